// SPDX-License-Identifier: MIT
#include "kernels/reduce/reduce.h"

#include <array>

#include "kernels/checks.h"
#include "kernels/reduce/cpu_table.h"

#ifdef WEFT_WITH_CUDA
#include "kernels/reduce/cuda.h"
#endif

namespace weft::kernels {

std::size_t reduce_workspace_bytes(std::int64_t n, Device device) {
  static_cast<void>(checked_elements("reduce_workspace_bytes", {n}));
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) return cuda::reduce_workspace_bytes(n);
#endif
  static_cast<void>(device);
  return static_cast<std::size_t>((n + kReduceChunk - 1) / kReduceChunk) * sizeof(double);
}

void reduce(float* result, const float* x, std::int64_t n, Reduction kind, Workspace workspace,
            const Stream& stream) {
  const std::size_t needed = reduce_workspace_bytes(n, stream.device());
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage, str("reduce: ", n, " elements need ", needed,
                                      " bytes of workspace, found ", workspace.bytes));
  }
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return cuda::reduce(result, x, n, kind, workspace, stream);
#endif
  select_reduce_cpu().reduce(result, x, n, kind, static_cast<double*>(workspace.data));
}

namespace {

constexpr std::array kVariants = {
    VariantInfo{"vectorized",
                "two stages: blocks reduce 16-byte loads into one partial each, a last block "
                "combines the partials in order",
                true, true, 0, ""},
};

}  // namespace

std::span<const VariantInfo> reduce_variants() {
  return kVariants;
}

}  // namespace weft::kernels
