// SPDX-License-Identifier: MIT
// The end of a classifier with a warp for one or two rows.
//
//   weights, of all classes      --> shared memory, once for a block     (cp.async)
//   x of the rows                --> registers: lane l has quads l, l + 32, ...
//   logits: a dot product for each class, added up over the lanes; lane c keeps the one of class c
//   softmax and cross-entropy in the warp (row.cuh)
//   dx: quads of weights times the gradients of their classes, masked by the x in registers
//
// Weights are read twice, 16 bytes a lane, without bank conflicts; with two rows each read feeds
// eight multiply-adds. 256 rows are 64 blocks, 1024 rows 128.
#include <type_traits>

#include "engine/launch.h"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/softmax/parts/classifier_cuda.h"
#include "kernels/softmax/parts/row.cuh"
#include "kernels/softmax/parts/warp_group.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kWarps = 4, kThreads = kWarps * device::kWarpSize;
constexpr int kClasses = static_cast<int>(kClassifierClasses);
constexpr std::int64_t kManyRows = 1024;  // from here on a warp takes two

// What a warp says to itself about one row.
struct RowScratch {
  float logits[kClasses], gradients[kClasses];
};

__device__ __forceinline__ float dot(const float4& a, const float4& b, float sum) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

template <int kQuads, int kRows>
__global__ void __launch_bounds__(kThreads)
    classifier_kernel(ClassifierOutputs out, const float* __restrict__ x,
                      const float* __restrict__ w, const float* __restrict__ bias,
                      const std::int32_t* __restrict__ labels, std::int64_t rows, int in,
                      int classes, ClassifierOptions options) {
  float* weights = device::dynamic_shared<float>();  // (classes, in)
  __shared__ RowScratch scratch[kWarps][kRows];
  const int warp = static_cast<int>(threadIdx.x) / device::kWarpSize;
  const int lane = static_cast<int>(threadIdx.x) % device::kWarpSize;
  const std::int64_t row0 = (std::int64_t{blockIdx.x} * kWarps + warp) * kRows;

  for (int i = 4 * static_cast<int>(threadIdx.x); i < classes * in; i += 4 * kThreads) {
    device::async_copy_16(weights + i, w + i, true);
  }
  device::async_commit();
  float4 values[kRows][kQuads];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const int column = 4 * (lane + q * device::kWarpSize);
      values[r][q] = {0, 0, 0, 0};
      if (row0 + r < rows && column < in) {
        values[r][q] = __ldg(reinterpret_cast<const float4*>(x + (row0 + r) * in + column));
      }
    }
  }
  const float shift = bias != nullptr && lane < classes ? bias[lane] : 0.0f;
  device::async_wait<0>();
  __syncthreads();  // the weights are there for all

  const auto weights_at = [&](int c, int q) {
    const int column = 4 * (lane + q * device::kWarpSize);
    if (column >= in) return make_float4(0, 0, 0, 0);
    return *reinterpret_cast<const float4*>(weights + c * in + column);
  };
  float logits[kRows] = {};
#pragma unroll 2
  for (int c = 0; c < classes; ++c) {
    float sums[kRows] = {};
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const float4 weight = weights_at(c, q);
#pragma unroll
      for (int r = 0; r < kRows; ++r) sums[r] = dot(values[r][q], weight, sums[r]);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float sum = device::warp_reduce(sums[r], device::Add());
      if (lane == c) logits[r] = sum + shift;
    }
  }

#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t row = row0 + r;
    if (row >= rows) break;  // for the whole warp
    RowScratch& own = scratch[warp][r];
    own.logits[lane] = logits[r];
    __syncwarp();  // the row is written
    WarpGroup group;
    cross_entropy_row<1>(out.loss == nullptr ? nullptr : out.loss + row, own.gradients,
                         out.prediction == nullptr ? nullptr : out.prediction + row, own.logits,
                         labels[row], options.scale, classes, group, options.smoothing);
    __syncwarp();  // and its gradient
    if (lane < classes) {
      out.logits[row * classes + lane] = logits[r];
      out.dlogits[row * classes + lane] = own.gradients[lane];
    }
  }
  if (out.dx == nullptr) return;
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    const int column = 4 * (lane + q * device::kWarpSize);
    float4 sums[kRows] = {};
#pragma unroll 4
    for (int c = 0; c < classes; ++c) {
      const float4 weight = weights_at(c, q);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float gradient = row0 + r < rows ? scratch[warp][r].gradients[c] : 0.0f;
        sums[r].x = fmaf(gradient, weight.x, sums[r].x);
        sums[r].y = fmaf(gradient, weight.y, sums[r].y);
        sums[r].z = fmaf(gradient, weight.z, sums[r].z);
        sums[r].w = fmaf(gradient, weight.w, sums[r].w);
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (row0 + r >= rows || column >= in) continue;
      const float4 value = values[r][q];
      const bool all = !options.mask;
      *reinterpret_cast<float4*>(out.dx + (row0 + r) * in + column) = {
          all || value.x > 0 ? sums[r].x : 0.0f, all || value.y > 0 ? sums[r].y : 0.0f,
          all || value.z > 0 ? sums[r].z : 0.0f, all || value.w > 0 ? sums[r].w : 0.0f};
    }
  }
}

// Calls run(integral_constant<int, kQuads>) with the fewest registers that hold a row.
template <class Run>
void with_quads(std::int64_t in, Run run) {
  if (in <= 128) return run(std::integral_constant<int, 1>());
  if (in <= 256) return run(std::integral_constant<int, 2>());
  if (in <= 512) return run(std::integral_constant<int, 4>());
  if (in <= 1024) return run(std::integral_constant<int, 8>());
  static_assert(kClassifierInputs == 16 * 4 * device::kWarpSize, "the last covers all");
  run(std::integral_constant<int, 16>());
}

}  // namespace

void classifier_forward_backward(const ClassifierOutputs& outputs, const float* x, const float* w,
                                 const float* bias, const std::int32_t* labels,
                                 const ClassifierDims& dims, const ClassifierOptions& options,
                                 const Stream& stream) {
  const auto bytes = static_cast<std::size_t>(dims.classes * dims.in) * sizeof(float);
  with_quads(dims.in, [&](auto quads) {
    const auto start = [&](auto rows) {
      launch(classifier_kernel<quads(), rows()>,
             {blocks_for(dims.rows, kWarps * rows()), kThreads, bytes, stream}, outputs, x, w, bias,
             labels, dims.rows, static_cast<int>(dims.in), static_cast<int>(dims.classes), options);
    };
    if (dims.rows >= kManyRows) {
      start(std::integral_constant<int, 2>());
    } else {
      start(std::integral_constant<int, 1>());
    }
  });
}

}  // namespace weft::kernels::cuda
