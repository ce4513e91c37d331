// SPDX-License-Identifier: MIT
// Gradient of the filters under ReLU and max pooling on the CPU. For each filter, the image at the
// positions of its maxima times dz is summed in registers.
//
// Images are cut into a number of chunks that depends on the dimensions alone; a chunk has its own
// sums, and the sums are added in order at the end, so results do not depend on the threads.
// Included by instances.cpp only: see kernels/isa.h.
#pragma once

#include "engine/extent.h"
#include "kernels/conv/cpu/correlation.h"
#include "kernels/conv_relu_pool/cpu/argmax_windows.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace relu_pool {

// sums += sum over the list of dz * image at its position. Pieces of few vectors take two entries
// at a time: one would wait for the multiply-adds of the one before.
template <int kRows, int kVectors>
struct Gather {
  static void run(float* sums, const float* image, std::int64_t line, const std::int64_t* at,
                  const float* dz, std::int64_t count) {
    constexpr int kAtOnce = kRows * kVectors <= 6 ? 2 : 1;
    FloatVector sum[kAtOnce][kRows][kVectors] = {};
    const auto add = [&](FloatVector(&to)[kRows][kVectors], std::int64_t entry) {
      const float* from = image + at[entry];
      const float factor = dz[entry];
      for_each_sum<kRows, kVectors>(
          [&](int r, int v) { to[r][v] += factor * simd::load(from + r * line + v * kLanes); });
    };
    std::int64_t entry = 0;
#pragma GCC unroll 1
    for (; entry + kAtOnce <= count; entry += kAtOnce) {
      add(sum[0], entry);
      if constexpr (kAtOnce == 2) add(sum[1], entry + 1);
    }
    if (entry < count) add(sum[0], entry);
    for_each_sum<kRows, kVectors>([&](int r, int v) {
      float* to = sums + (r * kVectors + v) * kLanes;
      const FloatVector total = kAtOnce == 2 ? sum[0][r][v] + sum[kAtOnce - 1][r][v] : sum[0][r][v];
      simd::store(to, simd::load(to) + total);
    });
  }
};

// The nonzero dz of one filter in windows [begin, end), in order; returns how many.
inline std::int64_t list_nonzero(std::int64_t* at, float* dz, const float* dy,
                                 const std::uint8_t* argmax, std::int64_t begin, std::int64_t end,
                                 const std::int64_t* window_at, const std::int64_t* position_at) {
  std::int64_t count = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    at[count] = window_at[i] + position_at[argmax[i]];
    dz[count] = dy[i];
    count += argmax[i] != kReluPoolCut ? 1 : 0;
  }
  return count;
}

struct WeightScratch {
  std::int64_t *window_at, *position_at;
  float *sums, *threads;

  // Floats of sums of a chunk: the weights in pieces, then db as a vector of partial sums.
  static std::int64_t chunk_floats(const Job& job) {
    return job.d.oc * (job.filter_floats() + kLanes);
  }
  static std::int64_t chunks(const Job& job) {
    constexpr std::int64_t kMost = 16, kMostFloats = std::int64_t{1} << 24;
    const std::int64_t fit = kMostFloats / chunk_floats(job);
    return least(job.d.n, fit < 1 ? 1 : least(fit, kMost));
  }
  // Rows of windows that are taken at once, so that what they read stays in the first-level cache.
  static std::int64_t strip_rows(const Job& job) {
    constexpr std::int64_t kFloats = 5000;
    const std::int64_t fit = kFloats / job.layout.line() - (job.d.kh - job.d.stride_h);
    const std::int64_t rows = fit / (job.dims.ph * job.d.stride_h);
    return rows < 1 || job.windows == 0 ? 1 : least(rows, job.dims.rows());
  }
  static std::int64_t list_floats(const Job& job) {
    return round_up(3 * (strip_rows(job) * job.columns + 1) + kLanes, 16);
  }
  static std::int64_t thread_floats(const Job& job) {
    return job.layout.floats() + list_floats(job);
  }

  explicit WeightScratch(const Job& job) {
    const std::int64_t shared = job.position_floats() + chunks(job) * chunk_floats(job);
    float* memory = correlation::scratch_of(shared, thread_floats(job));
    window_at = reinterpret_cast<std::int64_t*>(memory);
    position_at = window_at + job.windows;
    sums = memory + job.position_floats();
    threads = memory + shared;
  }
};

inline void gather_image(const Job& job, const WeightScratch& scratch, float* sums,
                         const float* image, float* lists, const float* dy,
                         const std::uint8_t* argmax) {
  static constexpr PieceKernels<Gather> kKernels;
  const std::int64_t line = job.layout.line();
  const Split strips(job.dims.rows(), WeightScratch::strip_rows(job));
  std::int64_t* at = reinterpret_cast<std::int64_t*>(lists);
  for (std::int64_t strip = 0; strip < strips.pieces; ++strip) {
    const std::int64_t begin = strips.begin(strip) * job.columns;
    const std::int64_t end = strips.begin(strip + 1) * job.columns;
    float* dz = lists + 2 * (end - begin + 1);
    for (std::int64_t o = 0; o < job.d.oc; ++o) {
      const std::int64_t count =
          list_nonzero(at, dz, dy + o * job.windows, argmax + o * job.windows, begin, end,
                       scratch.window_at, scratch.position_at);
      job.for_each_piece([&](const Piece& piece) {
        kKernels(piece)(sums + job.d.oc * piece.before * kLanes + o * piece.floats(),
                        image + piece.row * line + piece.vector * kLanes, line, at, dz, count);
      });
      float* bias = sums + job.d.oc * job.filter_floats() + o * kLanes;
      FloatVector sum = simd::load(bias);
      for (std::int64_t e = 0; e < count; e += kLanes) {
        sum += simd::load_first(dz + e, least(kLanes, count - e));
      }
      simd::store(bias, sum);
    }
  }
}

// Adds the chunks of one filter in order and puts the sums where the contract wants them.
inline void reduce_filter(const Job& job, float* dw, float* db, const float* sums,
                          std::int64_t chunks, std::int64_t o, bool add) {
  const std::int64_t stride = WeightScratch::chunk_floats(job);
  const auto total = [&](std::int64_t at) {
    FloatVector sum = {};
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      sum += simd::load(sums + chunk * stride + at);
    }
    return sum;
  };
  float* filter = dw + o * job.d.c * job.d.kh * job.d.kw;
  job.for_each_piece([&](const Piece& piece) {
    const std::int64_t first = job.d.oc * piece.before * kLanes + o * piece.floats();
    FloatVector sum = {};
    job.for_each_weight(piece, [&](std::int64_t e, std::int64_t weight) {
      if (e % kLanes == 0) sum = total(first + e);
      if (weight < 0) return;
      filter[weight] = add ? filter[weight] + sum[e % kLanes] : sum[e % kLanes];
    });
  });
  if (db == nullptr) return;
  const FloatVector parts = total(job.d.oc * job.filter_floats() + o * kLanes);
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += parts[lane];
  db[o] = add ? db[o] + sum : sum;
}

}  // namespace relu_pool

// All extents of the convolution but n > 0.
inline void conv2d_relu_pool_backward_weights_sparse(float* dw, float* db, const float* dy,
                                                     const std::uint8_t* argmax, const float* x,
                                                     const ReluPoolDims& dims, GradientMode mode) {
  using namespace relu_pool;
  const Job job(dims);
  const ConvDims& d = dims.conv;
  const WeightScratch scratch(job);
  job.tabulate(scratch.window_at, scratch.position_at);
  const std::int64_t chunks = WeightScratch::chunks(job);
  const std::int64_t chunk_floats = WeightScratch::chunk_floats(job);
  const Split images(d.n, chunks > 0 ? divide_up(d.n, chunks) : 1);
#pragma omp parallel if (job.worth_threads())
  {
    float* image =
        scratch.threads + correlation::thread_index() * WeightScratch::thread_floats(job);
    float* lists = image + job.layout.floats();
    for (std::int64_t e = 0; e < job.layout.floats(); ++e) image[e] = 0.0f;
#pragma omp for schedule(static)
    for (std::int64_t chunk = 0; chunk < images.pieces; ++chunk) {
      float* sums = scratch.sums + chunk * chunk_floats;
      for (std::int64_t e = 0; e < chunk_floats; ++e) sums[e] = 0.0f;
      for (std::int64_t i = images.begin(chunk); i < images.begin(chunk + 1); ++i) {
        const std::int64_t outputs = i * d.oc * job.windows;
        to_channels_last(image, x + i * d.c * d.h * d.w, job.layout);
        gather_image(job, scratch, sums, image, lists, dy + outputs, argmax + outputs);
      }
    }
#pragma omp for schedule(static)
    for (std::int64_t o = 0; o < d.oc; ++o) {
      reduce_filter(job, dw, db, scratch.sums, images.pieces, o, mode == GradientMode::accumulate);
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
