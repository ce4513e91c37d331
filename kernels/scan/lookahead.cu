// SPDX-License-Identifier: MIT
// The types and operators of scan.h for lookahead.cuh.
#include "kernels/scan/lookahead.cuh"

#include "kernels/scan/launchers.cuh"

namespace weft::kernels::cuda {

template <class T>
void scan_lookahead(const ScanArguments<T>& arguments, const Stream& stream) {
  run_scan<Lookahead>(arguments, stream);
}

template void scan_lookahead(const ScanArguments<std::int32_t>&, const Stream&);
template void scan_lookahead(const ScanArguments<std::int64_t>&, const Stream&);
template void scan_lookahead(const ScanArguments<float>&, const Stream&);
template void scan_lookahead(const ScanArguments<double>&, const Stream&);

}  // namespace weft::kernels::cuda
