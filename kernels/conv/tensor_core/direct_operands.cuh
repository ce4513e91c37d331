// SPDX-License-Identifier: MIT
// What the kernels of the rung "direct_tensor_core" share: runs of floats copied to shared memory,
// and products of matrices that lie there as they came.
//
// All three passes are D[row][column] = sum over k of A[row][k] B[k][column], where B is never
// written down: its element is the image at the place of the column plus an offset of k. So an
// image is staged once, and a table of offsets, made before the image is there, says the rest:
//
//   pass              row             k                column
//   forward           filter          channel, tap     pixel of y
//   backward data     channel, tap s  tap r, filter    row of dx, column of dy (see there)
//   backward weights  filter          pixel of dy      channel, tap
//
// fp32 accuracy comes from three products of tf32. An operand is the sum of a big part, which a
// tensor core reads exactly, and a small rest; the product of two rests is left out. The big part
// of A is rounded, so its rests have either sign and what is left out does not add up. That of B is
// truncated, which takes an instruction less. An operand that is infinite gives NaN.
#pragma once

#include <cstdint>

#include "engine/extent.h"
#include "kernels/conv/launchers.h"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/fast_divide.cuh"
#include "kernels/device/mma.cuh"

namespace weft::kernels::cuda {

// Shared memory of a block: what every device from sm_80 up has. Two blocks of these kernels are on
// an SM, so that one waits for memory while the other multiplies.
constexpr std::int64_t kDirectMmaSharedBytes = 96 * 1024;
constexpr int kDirectMmaBlocks = 2;
constexpr int kDirectMmaThreads = 256, kDirectMmaWarps = kDirectMmaThreads / 32;

// Does the weight gradient fit (direct_tensor_core_weights.cu)?
bool direct_tensor_core_weights_fit(const ConvDims& dims);

// Floats from one row of A to the next: `depth` along k, zeros up to whole steps, and four more, so
// that the eight rows and four columns which a warp reads at a time lie in 32 banks.
inline std::int64_t stride_of_rows(std::int64_t depth) {
  return round_up(depth, 8) + 4;
}

// Runs of floats that follow each other in memory, and their places in shared memory: run i of
// group g begins at g * group_stride + i * run_stride + origin.
struct StagedRuns {
  int group_stride = 0, run_stride = 0, origin = 0;
  int unit = 1;                  // floats copied at a time: 1, 2 or 4
  device::FastDivide by_units;   // of a run
  device::FastDivide by_groups;  // runs of a group

  StagedRuns() = default;
  StagedRuns(const float* from, std::int64_t floats, std::int64_t run_stride_, std::int64_t origin_,
             std::int64_t runs_of_group, std::int64_t group_stride_)
      : group_stride(static_cast<int>(group_stride_)),
        run_stride(static_cast<int>(run_stride_)),
        origin(static_cast<int>(origin_)),
        by_groups(runs_of_group) {
    const auto divides = [&](int candidate) {
      return (floats | run_stride_ | origin_ | group_stride_) % candidate == 0 &&
             reinterpret_cast<std::uintptr_t>(from) % (sizeof(float) * candidate) == 0;
    };
    unit = divides(4) ? 4 : divides(2) ? 2 : 1;
    by_units = device::FastDivide(floats / unit);
  }

  // All threads of the block start copies of `runs` runs. The first `present` runs exist; the
  // others are written as zeros. Completion: async_commit() and async_wait().
  __device__ __forceinline__ void copy(float* to, const float* from, int present, int runs) const {
    if (unit == 4) return copy_units<4>(to, from, present, runs);
    if (unit == 2) return copy_units<2>(to, from, present, runs);
    return copy_units<1>(to, from, present, runs);
  }

 private:
  template <int kUnit>
  __device__ __forceinline__ void copy_units(float* to, const float* from, int present,
                                             int runs) const {
    const int units = by_units.divisor();
    for (int i = threadIdx.x; i < runs * units; i += kDirectMmaThreads) {
      int along = 0, run = 0;
      const int group = by_groups.divide(by_units.divide(i, along), run);
      device::async_copy_floats<kUnit>(
          to + group * group_stride + run * run_stride + origin + kUnit * along,
          from + std::int64_t{kUnit} * i, i < present * units);
    }
  }
};

// An image in shared memory behind a border of zeros.
struct StagedImage {
  std::int64_t row_stride, plane_stride, image_stride;

  StagedImage() = default;
  explicit StagedImage(const ConvDims& d)
      : row_stride(d.w + 2 * d.pad_w),
        plane_stride((d.h + 2 * d.pad_h) * row_stride),
        image_stride(d.c * plane_stride) {}

  // Without a border images stay as they are, and the longest runs can be copied.
  StagedRuns runs(const float* x, const ConvDims& d) const {
    constexpr std::int64_t kAll = std::int64_t{1} << 30;
    if (d.pad_h == 0 && d.pad_w == 0) return {x, image_stride, image_stride, 0, kAll, 0};
    if (d.pad_w == 0) return {x, d.h * d.w, plane_stride, d.pad_h * row_stride, kAll, 0};
    return {x, d.w, row_stride, d.pad_h * row_stride + d.pad_w, d.h, plane_stride};
  }
  static std::int64_t runs_of_image(const ConvDims& d) {
    return d.pad_w > 0 ? d.c * d.h : d.pad_h > 0 ? d.c : 1;
  }
};

// The table: for each step of eight k and each of four members of a group, where k = member and
// k = member + 4 lie from the place of a column, in bytes. There are kTableSteps more than needed,
// because the loop reads ahead.
constexpr int kTableSteps = 2;
inline std::int64_t table_floats(std::int64_t depth) {
  return 8 * (divide_up(depth, 8) + kTableSteps);
}

// offset_of(k) in floats for k in [0, depth); A is 0 behind that, so any place will do.
template <class OffsetOf>
__device__ __forceinline__ void make_table(int2* table, int depth, const OffsetOf& offset_of) {
  const int entries = (divide_up(depth, 8) + kTableSteps) * 4;
  for (int i = threadIdx.x; i < entries; i += kDirectMmaThreads) {
    const int k = i / 4 * 8 + i % 4;
    table[i] = {k < depth ? 4 * offset_of(k) : 0, k + 4 < depth ? 4 * offset_of(k + 4) : 0};
  }
}

// What a lane of a warp, group = lane / 4 and member = lane % 4, reads of a product of 16 rows and
// kTiles x 8 columns.
template <int kTiles>
struct MmaOperands {
  const float* a;         // row `group` at k = member
  int a_below;            // from there to row group + 8
  const int2* table;      // at `member`
  const char* b[kTiles];  // the places of columns group, group + 8, ...
};

template <int kTiles>
struct MmaStep {
  float a[4], b[kTiles][2];

  __device__ __forceinline__ void load(const MmaOperands<kTiles>& from, int step, int2 at) {
    const float* row = from.a + 8 * step;
    a[0] = row[0];
    a[1] = row[from.a_below];
    a[2] = row[4];
    a[3] = row[from.a_below + 4];
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      b[j][0] = *reinterpret_cast<const float*>(from.b[j] + at.x);
      b[j][1] = *reinterpret_cast<const float*>(from.b[j] + at.y);
    }
  }

  // kSplit: three products, those with a rest to sums of their own, which stay small.
  template <bool kSplit>
  __device__ __forceinline__ void multiply(float (&sum)[kTiles][4],
                                           float (&rest)[kTiles][4]) const {
    std::uint32_t a_big[4], a_small[4], b_big[kTiles][2], b_small[kTiles][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (kSplit) {
        device::split_tf32(a_big[i], a_small[i], __float_as_uint(a[i]));
      } else {
        a_big[i] = device::tf32_operand(__float_as_uint(a[i]));
      }
    }
#pragma unroll
    for (int i = 0; i < 2 * kTiles; ++i) {
      const std::uint32_t value = __float_as_uint(b[i / 2][i % 2]);
      if constexpr (kSplit) {
        device::split_tf32_cut(b_big[i / 2][i % 2], b_small[i / 2][i % 2], value);
      } else {
        b_big[i / 2][i % 2] = device::tf32_operand(value);
      }
    }
    if constexpr (kSplit) {
#pragma unroll
      for (int j = 0; j < kTiles; ++j) device::mma_m16n8k8_tf32(rest[j], a_small, b_big[j]);
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j) device::mma_m16n8k8_tf32(sum[j], a_big, b_big[j]);
    if constexpr (kSplit) {
#pragma unroll
      for (int j = 0; j < kTiles; ++j) device::mma_m16n8k8_tf32(rest[j], a_big, b_small[j]);
    }
  }
};

// sum += the product over steps [begin, end). A step is in registers before the one ahead of it is
// multiplied. Tensor cores truncate where fp32 additions round. So they only add up kStepsOfPart
// steps, and fp32 adds the parts. (Sums with a rest are too small for that to matter.)
constexpr int kStepsOfPart = 8;
template <bool kSplit, int kTiles>
__device__ __forceinline__ void multiply_steps(float (&sum)[kTiles][4],
                                               const MmaOperands<kTiles>& from, int begin,
                                               int end) {
  if (begin >= end) return;
  MmaStep<kTiles> next;
  next.load(from, begin, from.table[4 * begin]);
  int2 at = from.table[4 * begin + 4];
  float rest[kTiles][4] = {};
  for (int step = begin; step < end;) {
    float part[kTiles][4] = {};
    const int stop = min(step + kStepsOfPart, end);
#pragma unroll 2
    for (; step < stop; ++step) {
      const MmaStep<kTiles> now = next;
      next.load(from, step + 1, at);  // behind the last one: of the table's further steps
      at = from.table[4 * step + 8];
      now.template multiply<kSplit>(part, rest);
    }
#pragma unroll
    for (int i = 0; i < 4 * kTiles; ++i) sum[i / 4][i % 4] += part[i / 4][i % 4];
  }
  if constexpr (kSplit) {
#pragma unroll
    for (int i = 0; i < 4 * kTiles; ++i) sum[i / 4][i % 4] += rest[i / 4][i % 4];
  }
}

}  // namespace weft::kernels::cuda
