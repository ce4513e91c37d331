// SPDX-License-Identifier: MIT
#include "kernels/dropout/dropout.h"

#include "kernels/checks.h"
#include "kernels/dropout/cpu/table.h"

namespace weft::kernels {
namespace cuda {  // in rungs/

decltype(kernels::dropout) dropout;

}  // namespace cuda

void dropout(float* y, const float* x, std::int64_t n, float p, const DropoutKey& key,
             GradientMode mode, const Stream& stream) {
  if (!(p >= 0 && p < 1)) {
    throw Error(ErrorKind::usage, str("dropout: probability must be in [0, 1), found ", p));
  }
  check_mode("dropout", mode);
  if (checked_elements("dropout", {n}) == 0) return;
  constexpr std::int64_t kLimit = std::int64_t{1} << 34;
  if (key.first < 0 || key.first >= kLimit || n >= kLimit - key.first) {
    throw Error(ErrorKind::usage, str("dropout: at most 2^34 - 1 elements of a batch, found ", n,
                                      " from element ", key.first));
  }
  check_call("dropout", stream,
             {writes("y", y, n).may_be("x"), reads("x", x, n), reads("key.step", key.step, 1)});
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return cuda::dropout(y, x, n, p, key, mode, stream);
#endif
  static_cast<void>(stream);
  select_dropout_cpu().dropout(y, x, n, p, key, mode);
}

namespace {

constexpr Rung kRungs[] = {
    {.name = "counter_based",
     .summary =
         "the mask is computed from a counter, not stored: backward draws the same numbers again",
     .prefer = "always",
     .on_cpu = true},
};

}  // namespace

Rungs dropout_rungs() {
  return Rungs(kRungs);
}

}  // namespace weft::kernels
