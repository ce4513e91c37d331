// SPDX-License-Identifier: MIT
// The table of what a kernel did to memory, as `kernel show --counts` and `lab run --counts` show
// it.
#pragma once

#include <string>
#include <string_view>

#include "examples/weft/output/terminal.h"
#include "host_cuda/access/access_counts.h"

namespace weft::cli {

std::string counts_text(const KernelCounts& kernel, const Terminal& terminal);

// What stands below the last table.
inline constexpr std::string_view kCountsLegend =
    "\nPer request of a warp: lanes that take part; transactions, which are sectors of 32\n"
    "bytes of global memory or passes over the banks of shared memory; and how many these\n"
    "lanes would need at best.\n";

}  // namespace weft::cli
