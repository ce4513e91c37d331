// SPDX-License-Identifier: MIT
// Kogge-Stone in registers: a warp scans its 32 values with five shuffles, the totals of the warps
// meet in shared memory, where the first warp scans them. Two barriers in all, however long the
// block, and no bank of shared memory is touched in between.
#pragma once

#include "kernels/device/scan.cuh"
#include "kernels/scan/parts/levels.cuh"

namespace weft::kernels::cuda {

template <class T, class Op>
__global__ void __launch_bounds__(kScanBlock)
    scan_warp_scan_kernel(T* y, T* totals, const T* x, std::int64_t n, bool exclusive, Op op) {
  constexpr int kWarps = kScanBlock / device::kWarpSize;
  __shared__ T warp_totals[kWarps];
  const int tid = static_cast<int>(threadIdx.x);
  const int warp = tid / device::kWarpSize, lane = tid % device::kWarpSize;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kScanBlock + tid;
  const T scanned = device::warp_inclusive_scan(i < n ? x[i] : Op::identity(), op);
  if (lane == device::kWarpSize - 1) warp_totals[warp] = scanned;
  __syncthreads();  // all totals are written before the first warp scans them
  if (warp == 0) {
    const T total =
        device::warp_inclusive_scan(lane < kWarps ? warp_totals[lane] : Op::identity(), op);
    if (lane < kWarps) warp_totals[lane] = total;
  }
  __syncthreads();  // the scanned totals are written before all warps read them
  const T before = warp == 0 ? Op::identity() : warp_totals[warp - 1];
  const T left = device::shuffle_up(scanned, 1);
  if (i < n) {
    if (exclusive) {
      y[i] = lane == 0 ? before : op(before, left);
    } else {
      y[i] = op(before, scanned);
    }
  }
  if (totals != nullptr && tid == 0) totals[blockIdx.x] = warp_totals[kWarps - 1];
}

struct WarpScan : ScanByLevels<WarpScan> {
  static constexpr int kThreads = kScanBlock;
  template <class T>
  static constexpr std::int64_t kSection = kScanBlock;
  template <class T, class Op>
  static constexpr auto kernel = scan_warp_scan_kernel<T, Op>;
};

}  // namespace weft::kernels::cuda
