// SPDX-License-Identifier: MIT
// The types and operators of scan.h for grid_sync.cuh.
#include "kernels/scan/grid_sync.cuh"

#include "kernels/scan/launchers.cuh"

namespace weft::kernels::cuda {

template <class T>
void scan_grid_sync(const ScanArguments<T>& arguments, const Stream& stream) {
  run_scan<GridSync>(arguments, stream);
}

template void scan_grid_sync(const ScanArguments<std::int32_t>&, const Stream&);
template void scan_grid_sync(const ScanArguments<std::int64_t>&, const Stream&);
template void scan_grid_sync(const ScanArguments<float>&, const Stream&);
template void scan_grid_sync(const ScanArguments<double>&, const Stream&);

}  // namespace weft::kernels::cuda
