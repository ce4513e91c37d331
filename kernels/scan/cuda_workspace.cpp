// SPDX-License-Identifier: MIT
#include "kernels/scan/cuda.h"
#include "kernels/scan/workspace.h"

namespace weft::kernels::cuda {

std::size_t scan_workspace_bytes(ScanVariant variant, std::int64_t n, std::size_t element_bytes) {
  const auto level_bytes = [&](std::int64_t section) {
    return static_cast<std::size_t>(scan_level_elements(n, section)) * element_bytes;
  };
  switch (variant) {
    case ScanVariant::brent_kung:
      return level_bytes(2 * kScanBlock);
    case ScanVariant::three_kernel:
      return level_bytes(scan_tile(element_bytes));
    case ScanVariant::grid_sync:
      return kScanGridBlocks * element_bytes;
    case ScanVariant::decoupled_lookback:
      return static_cast<std::size_t>(scan_lookback_words(n, element_bytes)) * 8;
    case ScanVariant::lookahead:
      return 0;  // the stream has what it needs
    default:
      return level_bytes(kScanBlock);
  }
}

}  // namespace weft::kernels::cuda
