// SPDX-License-Identifier: MIT
// The types and operators of scan.h for decoupled_lookback.cuh.
#include "kernels/scan/decoupled_lookback.cuh"

#include "kernels/scan/launchers.cuh"

namespace weft::kernels::cuda {

template <class T>
void scan_decoupled_lookback(const ScanArguments<T>& arguments, const Stream& stream) {
  run_scan<DecoupledLookback>(arguments, stream);
}

template void scan_decoupled_lookback(const ScanArguments<std::int32_t>&, const Stream&);
template void scan_decoupled_lookback(const ScanArguments<std::int64_t>&, const Stream&);
template void scan_decoupled_lookback(const ScanArguments<float>&, const Stream&);
template void scan_decoupled_lookback(const ScanArguments<double>&, const Stream&);

}  // namespace weft::kernels::cuda
