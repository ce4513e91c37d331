// SPDX-License-Identifier: MIT
// The types and operators of scan.h for warp_scan.cuh.
#include "kernels/scan/warp_scan.cuh"

#include "kernels/scan/launchers.cuh"

namespace weft::kernels::cuda {

template <class T>
void scan_warp_scan(const ScanArguments<T>& arguments, const Stream& stream) {
  run_scan<WarpScan>(arguments, stream);
}

template void scan_warp_scan(const ScanArguments<std::int32_t>&, const Stream&);
template void scan_warp_scan(const ScanArguments<std::int64_t>&, const Stream&);
template void scan_warp_scan(const ScanArguments<float>&, const Stream&);
template void scan_warp_scan(const ScanArguments<double>&, const Stream&);

}  // namespace weft::kernels::cuda
