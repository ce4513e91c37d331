// SPDX-License-Identifier: MIT
// Pooling where every thread gathers one value.
//
//   forward    a thread per output reads its window; neighbours' windows overlap in the L1 cache
//   backward   a thread per input visits the windows that cover it and adds the dy of those that
//              chose it: no atomics, a fixed order, each dx written once
//
// kHalved compiles the 2x2 window of stride 2 without padding into constants: no inner loops, and
// divisions by 2 are shifts. Index is 32 bits wide where the arrays allow it, since the divisions
// that find plane, row and column would otherwise dominate.
#include <type_traits>

#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/pool/parts/windows.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <bool kHalved>
__device__ __forceinline__ Plane specialized(Plane plane) {
  if (kHalved) {
    plane.kh = plane.kw = plane.stride_h = plane.stride_w = 2;
    plane.pad_h = plane.pad_w = 0;
  }
  return plane;
}

template <bool kHalved, class Index>
__global__ void __launch_bounds__(kThreads)
    max_forward_kernel(float* __restrict__ y, std::int32_t* __restrict__ argmax,
                       const float* __restrict__ x, Index outputs, Plane shape) {
  const Plane s = specialized<kHalved>(shape);
  const Index stride = static_cast<Index>(device::grid_threads());
  for (Index o = static_cast<Index>(device::global_thread()); o < outputs; o += stride) {
    const device::PlanePosition<Index> at(o, s.oh, s.ow);
    const float* in = x + static_cast<std::int64_t>(at.plane) * s.h * s.w;
    const Range rows = window_range(at.row, s.stride_h, s.pad_h, s.kh, s.h);
    const Range cols = window_range(at.column, s.stride_w, s.pad_w, s.kw, s.w);
    int best_index = rows.begin * s.w + cols.begin;
    float best = in[best_index];
    for (int i = rows.begin; i < rows.end; ++i) {
      for (int j = cols.begin; j < cols.end; ++j) {
        const float value = in[i * s.w + j];
        // The first NaN wins and stays; of equal values the first stays.
        if (!(value <= best) && best == best) {
          best = value;
          best_index = i * s.w + j;
        }
      }
    }
    y[o] = best;
    if (argmax != nullptr) argmax[o] = best_index;
  }
}

template <bool kHalved, class Index>
__global__ void __launch_bounds__(kThreads)
    max_backward_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                        const std::int32_t* __restrict__ argmax, Index inputs, Plane shape,
                        bool accumulate) {
  const Plane s = specialized<kHalved>(shape);
  const Index stride = static_cast<Index>(device::grid_threads());
  for (Index e = static_cast<Index>(device::global_thread()); e < inputs; e += stride) {
    const device::PlanePosition<Index> at(e, s.h, s.w);
    const std::int64_t base = static_cast<std::int64_t>(at.plane) * s.oh * s.ow;
    const Range rows = windows_over(at.row, s.stride_h, s.pad_h, s.kh, s.oh);
    const Range cols = windows_over(at.column, s.stride_w, s.pad_w, s.kw, s.ow);
    const int self = at.row * s.w + at.column;
    float sum = 0.0f;
    for (int p = rows.begin; p < rows.end; ++p) {
      for (int q = cols.begin; q < cols.end; ++q) {
        const int o = p * s.ow + q;
        if (argmax[base + o] == self) sum += dy[base + o];
      }
    }
    dx[e] = accumulate ? dx[e] + sum : sum;
  }
}

template <bool kHalved, bool kWithin, class Index>
__global__ void __launch_bounds__(kThreads)
    avg_forward_kernel(float* __restrict__ y, const float* __restrict__ x, Index outputs,
                       Plane shape, float weight) {
  const Plane s = specialized<kHalved>(shape);
  const Index stride = static_cast<Index>(device::grid_threads());
  for (Index o = static_cast<Index>(device::global_thread()); o < outputs; o += stride) {
    const device::PlanePosition<Index> at(o, s.oh, s.ow);
    const float* in = x + static_cast<std::int64_t>(at.plane) * s.h * s.w;
    const Range rows = window_range(at.row, s.stride_h, s.pad_h, s.kh, s.h);
    const Range cols = window_range(at.column, s.stride_w, s.pad_w, s.kw, s.w);
    float sum = 0.0f;
    for (int i = rows.begin; i < rows.end; ++i) {
      for (int j = cols.begin; j < cols.end; ++j) sum += in[i * s.w + j];
    }
    y[o] = sum * (kWithin ? weight_within(s, at.row, at.column) : weight);
  }
}

template <bool kHalved, bool kWithin, class Index>
__global__ void __launch_bounds__(kThreads)
    avg_backward_kernel(float* __restrict__ dx, const float* __restrict__ dy, Index inputs,
                        Plane shape, float weight, bool accumulate) {
  const Plane s = specialized<kHalved>(shape);
  const Index stride = static_cast<Index>(device::grid_threads());
  for (Index e = static_cast<Index>(device::global_thread()); e < inputs; e += stride) {
    const device::PlanePosition<Index> at(e, s.h, s.w);
    const float* out = dy + static_cast<std::int64_t>(at.plane) * s.oh * s.ow;
    const Range rows = windows_over(at.row, s.stride_h, s.pad_h, s.kh, s.oh);
    const Range cols = windows_over(at.column, s.stride_w, s.pad_w, s.kw, s.ow);
    float sum = 0.0f;
    for (int p = rows.begin; p < rows.end; ++p) {
      for (int q = cols.begin; q < cols.end; ++q) {
        const float share = out[p * s.ow + q];
        sum += kWithin ? share * weight_within(s, p, q) : share;
      }
    }
    const float value = kWithin ? sum : sum * weight;
    dx[e] = accumulate ? dx[e] + value : value;
  }
}

Launch launch_of(std::int64_t elements, const Stream& stream) {
  return {blocks_for(elements, kThreads, 1 << 20), kThreads, 0, stream};
}

// Calls run(bool_constant<kHalved>, Index()).
template <class Run>
void specialize(const PoolDims& d, Run run) {
  const bool halved = d.kh == 2 && d.kw == 2 && d.stride_h == 2 && d.stride_w == 2 &&
                      d.pad_h == 0 && d.pad_w == 0 && d.is_plain();
  const std::int64_t planes = d.n * d.c;
  const bool small = planes * d.h * d.w < INT32_MAX && planes * d.oh() * d.ow() < INT32_MAX;
  if (halved && small) return run(std::true_type(), std::uint32_t());
  if (halved) return run(std::true_type(), std::int64_t());
  if (small) return run(std::false_type(), std::uint32_t());
  run(std::false_type(), std::int64_t());
}

}  // namespace

void max_pool2d_forward_gather(float* y, std::int32_t* argmax, const float* x, const PoolDims& dims,
                               const Stream& stream) {
  const std::int64_t outputs = dims.n * dims.c * dims.oh() * dims.ow();
  specialize(dims, [&](auto halved, auto index) {
    launch(max_forward_kernel<decltype(halved)::value, decltype(index)>, launch_of(outputs, stream),
           y, argmax, x, static_cast<decltype(index)>(outputs), plane_of(dims));
  });
}

void max_pool2d_backward_gather(float* dx, const float* dy, const std::int32_t* argmax,
                                const PoolDims& dims, GradientMode mode, const Stream& stream) {
  const std::int64_t inputs = dims.n * dims.c * dims.h * dims.w;
  specialize(dims, [&](auto halved, auto index) {
    launch(max_backward_kernel<decltype(halved)::value, decltype(index)>, launch_of(inputs, stream),
           dx, dy, argmax, static_cast<decltype(index)>(inputs), plane_of(dims),
           mode == GradientMode::accumulate);
  });
}

void avg_pool2d_forward_gather(float* y, const float* x, const PoolDims& dims,
                               const Stream& stream) {
  const std::int64_t outputs = dims.n * dims.c * dims.oh() * dims.ow();
  specialize(dims, [&](auto halved, auto index) {
    constexpr bool kHalved = decltype(halved)::value;
    const auto kernel = dims.count == PoolCount::window
                            ? avg_forward_kernel<kHalved, false, decltype(index)>
                            : avg_forward_kernel<kHalved, !kHalved, decltype(index)>;
    launch(kernel, launch_of(outputs, stream), y, x, static_cast<decltype(index)>(outputs),
           plane_of(dims), weight_of(dims));
  });
}

void avg_pool2d_backward_gather(float* dx, const float* dy, const PoolDims& dims, GradientMode mode,
                                const Stream& stream) {
  const std::int64_t inputs = dims.n * dims.c * dims.h * dims.w;
  specialize(dims, [&](auto halved, auto index) {
    constexpr bool kHalved = decltype(halved)::value;
    const auto kernel = dims.count == PoolCount::window
                            ? avg_backward_kernel<kHalved, false, decltype(index)>
                            : avg_backward_kernel<kHalved, !kHalved, decltype(index)>;
    launch(kernel, launch_of(inputs, stream), dx, dy, static_cast<decltype(index)>(inputs),
           plane_of(dims), weight_of(dims), mode == GradientMode::accumulate);
  });
}

}  // namespace weft::kernels::cuda
