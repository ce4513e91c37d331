// SPDX-License-Identifier: MIT
// The types and operators of scan.h for three_kernel.cuh.
#include "kernels/scan/three_kernel.cuh"

#include "kernels/scan/launchers.cuh"

namespace weft::kernels::cuda {

template <class T>
void scan_three_kernel(const ScanArguments<T>& arguments, const Stream& stream) {
  run_scan<ThreeKernel>(arguments, stream);
}

template void scan_three_kernel(const ScanArguments<std::int32_t>&, const Stream&);
template void scan_three_kernel(const ScanArguments<std::int64_t>&, const Stream&);
template void scan_three_kernel(const ScanArguments<float>&, const Stream&);
template void scan_three_kernel(const ScanArguments<double>&, const Stream&);

}  // namespace weft::kernels::cuda
