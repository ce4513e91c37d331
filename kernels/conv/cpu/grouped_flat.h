// SPDX-License-Identifier: MIT
// A convolution in groups of stride 1 on the CPU, by vectors that heed no row. Planes are framed by
// zeros; in a frame of `width` columns tap (r, s) of the output at e lies at e + r width + s, also
// behind the end of a row. So a frame is one run of vectors, and what lies between the ends of two
// rows of outputs is left out when they are copied.
//
// A thread owns a plane, or the gradients of a filter, which it sums image by image. So the bits
// are the same for any number of threads.
//
// Included by kernels/conv/cpu/instances.cpp only: see kernels/isa.h.
#pragma once

#include <vector>

#include "kernels/conv/cpu/correlation.h"
#include "kernels/conv/cpu/grouped.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace grouped {

using correlation::Placement;

constexpr int kRun = 4;  // vectors of sums at a time, so that none waits for the one before it

// Frames of `planes` source planes and the outputs (rows, columns) that are computed from them.
struct Frames {
  std::int64_t planes, source_h, source_w;
  Placement placement;
  std::int64_t rows, columns;
  std::vector<std::int64_t> offsets;  // of the taps in a frame

  // With few columns of outputs most of a run would be left out.
  bool worth_it() const { return placement.width <= 2 * columns; }
  std::int64_t frame() const { return placement.height * placement.width; }
  std::int64_t length() const { return (rows - 1) * placement.width + columns; }
  std::int64_t run_floats() const {  // whole vectors of the last row are read, too
    return round_up(length(), std::int64_t{kRun} * kLanes) + kLanes;
  }
  std::int64_t frame_floats() const {
    return round_up(planes * frame(), 16) + std::int64_t{kRun} * kLanes;
  }
  void fill(float* frames, const float* source) const {
    correlation::place(frames, source, planes, source_h, source_w, placement);
  }
};

inline Frames frames_of(const GroupedConvDims& d, bool backward) {
  const std::int64_t across = d.span_w() - 1, down = d.span_h() - 1;
  Frames f;
  if (backward) {
    f = {.planes = d.group_filters(),
         .source_h = d.oh(),
         .source_w = d.ow(),
         .placement = {.height = d.h + down,
                       .width = d.w + across,
                       .shift_h = down - d.pad_h,
                       .shift_w = across - d.pad_w},
         .rows = d.h,
         .columns = d.w,
         .offsets = {}};
  } else {
    f = {.planes = d.group_channels(),
         .source_h = d.h,
         .source_w = d.w,
         .placement = {.height = d.h + 2 * d.pad_h,
                       .width = d.w + 2 * d.pad_w,
                       .shift_h = d.pad_h,
                       .shift_w = d.pad_w},
         .rows = d.oh(),
         .columns = d.ow(),
         .offsets = {}};
  }
  for (std::int64_t r = 0; r < d.kh; ++r) {
    for (std::int64_t s = 0; s < d.kw; ++s) {
      const std::int64_t row = r * d.dilation_h, column = s * d.dilation_w;
      f.offsets.push_back(backward ? (down - row) * f.placement.width + across - column
                                   : row * f.placement.width + column);
    }
  }
  return f;
}

// Zeroed scratch of a thread.
inline float* zeroed_scratch(std::int64_t floats) {
  float* memory = thread_scratch(static_cast<std::size_t>(floats));
  for (std::int64_t e = 0; e < floats; ++e) memory[e] = 0.0f;
  return memory;
}

// sums[e] = start + the taps of all planes. Those of plane p are at w + p * w_step.
inline void correlate_frames(float* sums, const float* frames, const Frames& f, const float* w,
                             std::int64_t w_step, float start) {
  const auto taps = static_cast<std::int64_t>(f.offsets.size());
  for (std::int64_t e = 0; e < f.length(); e += kRun * kLanes) {
    FloatVector sum[kRun];
#pragma GCC unroll 4
    for (FloatVector& one : sum) one = simd::broadcast(start);
    for (std::int64_t p = 0; p < f.planes; ++p) {
      for (std::int64_t t = 0; t < taps; ++t) {
        const float* from = frames + p * f.frame() + f.offsets[static_cast<std::size_t>(t)] + e;
        const FloatVector weight = simd::broadcast(w[p * w_step + t]);
#pragma GCC unroll 4
        for (int v = 0; v < kRun; ++v) {
          sum[v] = simd::multiply_add(weight, simd::load(from + v * kLanes), sum[v]);
        }
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kRun; ++v) simd::store(sums + e + v * kLanes, sum[v]);
  }
}

// The rows of outputs, from the run of sums: end(sums, what is there, lanes) each.
template <class End>
void put_rows(float* out, const float* sums, const Frames& f, const End& end) {
  for (std::int64_t p = 0; p < f.rows; ++p, out += f.columns, sums += f.placement.width) {
    for (std::int64_t q = 0; q < f.columns; q += kLanes) {
      const std::int64_t lanes = packed::least(kLanes, f.columns - q);
      simd::store_first(out + q, end(simd::load(sums + q), out + q, lanes), lanes);
    }
  }
}

}  // namespace grouped

// Other strides go to the loops of grouped.h.
inline void grouped_conv2d_forward_flat(float* y, const float* x, const float* w, const float* bias,
                                        const GroupedConvDims& d, Epilogue epilogue) {
  const grouped::Frames f = grouped::frames_of(d, false);
  if (d.stride_h != 1 || d.stride_w != 1 || !f.worth_it()) {
    return grouped_conv2d_forward(y, x, w, bias, d, epilogue);
  }
  const std::int64_t weights = d.group_channels() * d.kh * d.kw;
#pragma omp parallel if (grouped::worth_threads(d))
  {
    float* frames = grouped::zeroed_scratch(f.frame_floats() + f.run_floats());
    float* sums = frames + f.frame_floats();
    const float* filled = nullptr;
#pragma omp for schedule(static)
    for (std::int64_t plane = 0; plane < d.n * d.oc; ++plane) {
      const std::int64_t i = plane / d.oc, o = plane % d.oc;
      const std::int64_t first = o / d.group_filters() * f.planes;
      // The filters of a group read the same planes.
      const float* source = x + (i * d.c + first) * d.h * d.w;
      if (source != filled) f.fill(frames, filled = source);
      grouped::correlate_frames(sums, frames, f, w + o * weights, d.kh * d.kw,
                                bias != nullptr ? bias[o] : 0.0f);
      const auto end = [&](FloatVector sum, const float*, std::int64_t) {
        return epilogue == Epilogue::relu ? simd::relu(sum) : sum;
      };
      grouped::put_rows(y + plane * f.rows * f.columns, sums, f, end);
    }
  }
}

inline void grouped_conv2d_backward_data_flat(float* dx, const float* dy, const float* w,
                                              const GroupedConvDims& d, GradientMode mode) {
  const grouped::Frames f = grouped::frames_of(d, true);
  if (d.stride_h != 1 || d.stride_w != 1 || !f.worth_it()) {
    return grouped_conv2d_backward_data(dx, dy, w, d, mode);
  }
  const std::int64_t channels = d.group_channels(), taps = d.kh * d.kw;
  const bool add = mode == GradientMode::accumulate;
#pragma omp parallel if (grouped::worth_threads(d))
  {
    float* frames = grouped::zeroed_scratch(f.frame_floats() + f.run_floats());
    float* sums = frames + f.frame_floats();
    const float* filled = nullptr;
#pragma omp for schedule(static)
    for (std::int64_t plane = 0; plane < d.n * d.c; ++plane) {
      const std::int64_t i = plane / d.c, first = plane % d.c / channels * f.planes;
      const float* source = dy + (i * d.oc + first) * d.oh() * d.ow();
      if (source != filled) f.fill(frames, filled = source);
      grouped::correlate_frames(sums, frames, f, w + (first * channels + plane % channels) * taps,
                                channels * taps, 0.0f);
      const auto end = [&](FloatVector sum, const float* there, std::int64_t lanes) {
        return add ? simd::load_first(there, lanes) + sum : sum;
      };
      grouped::put_rows(dx + plane * d.h * d.w, sums, f, end);
    }
  }
}

// A filter's gradient is summed in vectors, image by image; their lanes are added at the end.
inline void grouped_conv2d_backward_weights_flat(float* dw, const float* dy, const float* x,
                                                 const GroupedConvDims& d, GradientMode mode) {
  const grouped::Frames f = grouped::frames_of(d, false);
  if (d.stride_h != 1 || d.stride_w != 1 || !f.worth_it()) {
    return grouped_conv2d_backward_weights(dw, dy, x, d, mode);
  }
  constexpr std::int64_t kTaps = 8;  // sums in registers
  const std::int64_t taps = d.kh * d.kw, all = f.planes * taps;
  const std::int64_t run = f.run_floats();
#pragma omp parallel if (grouped::worth_threads(d))
  {
    float* frames = grouped::zeroed_scratch(f.frame_floats() + run + all * kLanes);
    float* outputs = frames + f.frame_floats();  // dy, in rows as wide as a frame's
    float* totals = outputs + run;
#pragma omp for schedule(static)
    for (std::int64_t o = 0; o < d.oc; ++o) {
      for (std::int64_t e = 0; e < all * kLanes; ++e) totals[e] = 0.0f;
      const std::int64_t first = o / d.group_filters() * f.planes;
      for (std::int64_t i = 0; i < d.n; ++i) {
        f.fill(frames, x + (i * d.c + first) * d.h * d.w);
        correlation::place(outputs, dy + (i * d.oc + o) * f.rows * f.columns, 1, f.rows, f.columns,
                           {.height = f.rows, .width = f.placement.width});
        for (std::int64_t tap = 0; tap < all; tap += kTaps) {
          const std::int64_t count = packed::least(kTaps, all - tap);
          FloatVector sum[kTaps] = {};
          const float* from[kTaps];
          for (std::int64_t t = 0; t < kTaps; ++t) {  // a tap that is none repeats the last
            const std::int64_t at = tap + packed::least(t, count - 1);
            from[t] =
                frames + at / taps * f.frame() + f.offsets[static_cast<std::size_t>(at % taps)];
          }
          for (std::int64_t e = 0; e < f.length(); e += kLanes) {
            const FloatVector gradient = simd::load(outputs + e);
#pragma GCC unroll 8
            for (std::int64_t t = 0; t < kTaps; ++t) {
              sum[t] = simd::multiply_add(gradient, simd::load(from[t] + e), sum[t]);
            }
          }
          for (std::int64_t t = 0; t < count; ++t) {
            float* total = totals + (tap + t) * kLanes;
            simd::store(total, simd::load(total) + sum[t]);
          }
        }
      }
      for (std::int64_t tap = 0; tap < all; ++tap) {
        float sum = 0;
        for (int lane = 0; lane < kLanes; ++lane) sum += totals[tap * kLanes + lane];
        float& out = dw[o * all + tap];
        out = mode == GradientMode::accumulate ? out + sum : sum;
      }
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
