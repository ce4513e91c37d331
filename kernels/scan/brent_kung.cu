// SPDX-License-Identifier: MIT
// The types and operators of scan.h for brent_kung.cuh.
#include "kernels/scan/brent_kung.cuh"

#include "kernels/scan/launchers.cuh"

namespace weft::kernels::cuda {

template <class T>
void scan_brent_kung(const ScanArguments<T>& arguments, const Stream& stream) {
  run_scan<BrentKung>(arguments, stream);
}

template void scan_brent_kung(const ScanArguments<std::int32_t>&, const Stream&);
template void scan_brent_kung(const ScanArguments<std::int64_t>&, const Stream&);
template void scan_brent_kung(const ScanArguments<float>&, const Stream&);
template void scan_brent_kung(const ScanArguments<double>&, const Stream&);

}  // namespace weft::kernels::cuda
