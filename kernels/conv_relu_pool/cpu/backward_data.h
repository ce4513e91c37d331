// SPDX-License-Identifier: MIT
// Gradient of the data under ReLU and max pooling on the CPU. For each window and position, the dz
// of all filters whose maximum lay there times their weights are summed in registers, then added
// to the image. Threads own images.
//
// Included by instances.cpp only: see kernels/isa.h.
#pragma once

#include "engine/extent.h"
#include "kernels/conv/cpu/correlation.h"
#include "kernels/conv_relu_pool/cpu/argmax_windows.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace relu_pool {

// What a piece is added from: the images's corner of the piece, dz (filter, window) and weights
// (filter, float of the piece) of a block of filters, and a word of filters for each window and
// position.
struct ScatterWork {
  float* image;
  std::int64_t line;
  const float *dz, *weights;
  const std::uint64_t* chosen;
  const std::int64_t *window_at, *position_at;
  std::int64_t windows, positions;
};

// image += sum over the filters that chose a position of dz * weights, at each position.
template <int kRows, int kVectors>
struct Scatter {
  static void run(const ScatterWork& work) {
    const std::uint64_t* words = work.chosen;
    for (std::int64_t window = 0; window < work.windows; ++window) {
      for (std::int64_t position = 0; position < work.positions; ++position) {
        std::uint64_t chosen = words[position];
        if (chosen == 0) continue;
        FloatVector sum[kRows][kVectors] = {};
#pragma GCC unroll 1
        do {
          const std::int64_t filter = __builtin_ctzll(chosen);
          chosen &= chosen - 1;
          const float factor = work.dz[filter * work.windows + window];
          const float* from = work.weights + filter * kRows * kVectors * kLanes;
          for_each_sum<kRows, kVectors>([&](int r, int v) {
            sum[r][v] += factor * simd::load(from + (r * kVectors + v) * kLanes);
          });
        } while (chosen != 0);
        float* corner = work.image + work.window_at[window] + work.position_at[position];
        for_each_sum<kRows, kVectors>([&](int r, int v) {
          float* to = corner + r * work.line + v * kLanes;
          simd::store(to, simd::load(to) + sum[r][v]);
        });
      }
      words += work.positions + 1;
    }
  }
};

constexpr std::int64_t kFilterBlock = 64;  // bits of a word

// Finds the filters of a block that chose each position of each window: a word for each (window,
// position), and one more for each window for the filters whose maximum ReLU cut.
inline void choose(std::uint64_t* chosen, const std::uint8_t* argmax, std::int64_t filters,
                   std::int64_t windows, std::int64_t positions) {
  for (std::int64_t i = 0; i < windows * (positions + 1); ++i) chosen[i] = 0;
  for (std::int64_t filter = 0; filter < filters; ++filter) {
    const std::uint64_t bit = std::uint64_t{1} << filter;
    for (std::int64_t i = 0; i < windows; ++i) {
      chosen[i * (positions + 1) + least(argmax[filter * windows + i], positions)] |= bit;
    }
  }
}

struct DataScratch {
  std::int64_t *window_at, *position_at;
  float *weights, *threads;

  explicit DataScratch(const Job& job) {
    const std::int64_t shared = job.position_floats() + job.d.oc * job.filter_floats();
    float* memory = correlation::scratch_of(shared, thread_floats(job));
    window_at = reinterpret_cast<std::int64_t*>(memory);
    position_at = window_at + job.windows;
    weights = memory + job.position_floats();
    threads = memory + shared;
  }
  static std::int64_t thread_floats(const Job& job) {
    return job.layout.floats() + round_up(2 * job.windows * (job.positions + 1), 16);
  }
};

inline void scatter_image(const Job& job, const DataScratch& scratch, float* image,
                          std::uint64_t* chosen, const float* dy, const std::uint8_t* argmax) {
  static constexpr PieceKernels<Scatter> kKernels;
  const std::int64_t line = job.layout.line();
  for (std::int64_t e = 0; e < job.layout.floats(); ++e) image[e] = 0.0f;
  for (std::int64_t first = 0; first < job.d.oc; first += kFilterBlock) {
    const std::int64_t filters = least(kFilterBlock, job.d.oc - first);
    choose(chosen, argmax + first * job.windows, filters, job.windows, job.positions);
    job.for_each_piece([&](const Piece& piece) {
      kKernels(piece)({image + piece.row * line + piece.vector * kLanes, line,
                       dy + first * job.windows,
                       scratch.weights + job.d.oc * piece.before * kLanes + first * piece.floats(),
                       chosen, scratch.window_at, scratch.position_at, job.windows, job.positions});
    });
  }
}

}  // namespace relu_pool

// All extents of the convolution > 0.
inline void conv2d_relu_pool_backward_data_sparse(float* dx, const float* dy,
                                                  const std::uint8_t* argmax, const float* w,
                                                  const ReluPoolDims& dims, GradientMode mode) {
  using namespace relu_pool;
  const Job job(dims);
  const ConvDims& d = dims.conv;
  const DataScratch scratch(job);
  job.tabulate(scratch.window_at, scratch.position_at);
#pragma omp parallel if (job.worth_threads())
  {
    float* image = scratch.threads + correlation::thread_index() * DataScratch::thread_floats(job);
    auto* chosen = reinterpret_cast<std::uint64_t*>(image + job.layout.floats());
#pragma omp for schedule(static)
    for (std::int64_t o = 0; o < d.oc; ++o) {
      const float* filter = w + o * d.c * d.kh * d.kw;
      job.for_each_piece([&](const Piece& piece) {
        float* to = scratch.weights + d.oc * piece.before * kLanes + o * piece.floats();
        job.for_each_weight(piece, [&](std::int64_t e, std::int64_t weight) {
          to[e] = weight < 0 ? 0.0f : filter[weight];
        });
      });
    }
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < d.n; ++i) {
      const std::int64_t outputs = i * d.oc * job.windows;
      scatter_image(job, scratch, image, chosen, dy + outputs, argmax + outputs);
      from_channels_last(dx + i * d.c * d.h * d.w, image, job.layout,
                         mode == GradientMode::accumulate);
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
