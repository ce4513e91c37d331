// SPDX-License-Identifier: MIT
// Launchers of the CUDA variants, one per TECHNIQUE.cu, for the types and operators of scan.h. For
// other operators include TECHNIQUE.cuh in a .cu file and call its run().
#pragma once

#include "kernels/scan/scan.h"

namespace weft::kernels::cuda {

template <class T>
struct ScanArguments {
  T* y;
  const T* x;
  std::int64_t n;  // > 0
  ScanOp op;
  bool exclusive;
  void* workspace;
};

template <class T>
void scan_kogge_stone(const ScanArguments<T>& arguments, const Stream& stream);
template <class T>
void scan_kogge_stone_double_buffered(const ScanArguments<T>& arguments, const Stream& stream);
template <class T>
void scan_warp_scan(const ScanArguments<T>& arguments, const Stream& stream);
template <class T>
void scan_brent_kung(const ScanArguments<T>& arguments, const Stream& stream);
template <class T>
void scan_three_kernel(const ScanArguments<T>& arguments, const Stream& stream);
template <class T>
void scan_grid_sync(const ScanArguments<T>& arguments, const Stream& stream);
template <class T>
void scan_decoupled_lookback(const ScanArguments<T>& arguments, const Stream& stream);
template <class T>
void scan_lookahead(const ScanArguments<T>& arguments, const Stream& stream);

// Workspace of a variant, in bytes, for elements of 4 or 8 bytes.
std::size_t scan_workspace_bytes(ScanVariant variant, std::int64_t n, std::size_t element_bytes);

}  // namespace weft::kernels::cuda
