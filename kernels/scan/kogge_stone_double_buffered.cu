// SPDX-License-Identifier: MIT
// The types and operators of scan.h for kogge_stone_double_buffered.cuh.
#include "kernels/scan/kogge_stone_double_buffered.cuh"

#include "kernels/scan/launchers.cuh"

namespace weft::kernels::cuda {

template <class T>
void scan_kogge_stone_double_buffered(const ScanArguments<T>& arguments, const Stream& stream) {
  run_scan<KoggeStoneDoubleBuffered>(arguments, stream);
}

template void scan_kogge_stone_double_buffered(const ScanArguments<std::int32_t>&, const Stream&);
template void scan_kogge_stone_double_buffered(const ScanArguments<std::int64_t>&, const Stream&);
template void scan_kogge_stone_double_buffered(const ScanArguments<float>&, const Stream&);
template void scan_kogge_stone_double_buffered(const ScanArguments<double>&, const Stream&);

}  // namespace weft::kernels::cuda
