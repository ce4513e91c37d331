// SPDX-License-Identifier: MIT
// The table of the rungs of dropout, and the validation and dispatch of a call.
#include "kernels/dropout/dropout.h"

#include <optional>
#include <string>

#include "kernels/checks.h"
#include "kernels/dropout/cpu/table.h"

namespace weft::kernels {
namespace cuda {

using DropoutLauncher = void(float* y, const float* x, std::int64_t n, float p,
                             const DropoutKey& key, GradientMode mode, const Stream& stream);

struct DropoutRow {
  struct Problem {};

  Rung rung;
  std::optional<const DropoutCpu& (*)()> cpu = {};
  Launcher<DropoutLauncher> launcher = {};

  constexpr bool complete() const {
    return rung.on_cpu == cpu.has_value() && launcher.there_if(rung, "dropout_");
  }
  std::string takes(const Problem&, Device) const { return ""; }
};

constexpr DropoutRow kDropoutRows[] = {
    {.rung = {.name = "counter_based",
              .summary = "the mask is computed from a counter, not stored: backward draws the same "
                         "numbers again",
              .prefer = "always",
              .on_cpu = true},
     .cpu = select_dropout_cpu,
     .launcher = WEFT_LAUNCHER(DropoutLauncher, dropout_counter_based)},
};

}  // namespace cuda

namespace {

constexpr Ladder kLadder("dropout", cuda::kDropoutRows);

}  // namespace

void dropout(float* y, const float* x, std::int64_t n, float p, const DropoutKey& key,
             GradientMode mode, std::string_view variant, const Stream& stream) {
  if (!(p >= 0 && p < 1)) {
    throw Error(ErrorKind::usage, str("dropout: probability must be in [0, 1), found ", p));
  }
  check_mode("dropout", mode);
  const auto& row = kLadder.select(variant, {}, stream.device());
  if (checked_elements("dropout", {n}) == 0) return;
  constexpr std::int64_t kLimit = std::int64_t{1} << 34;
  if (key.first < 0 || key.first >= kLimit || n >= kLimit - key.first) {
    throw Error(ErrorKind::usage, str("dropout: at most 2^34 - 1 elements of a batch, found ", n,
                                      " from element ", key.first));
  }
  check_call("dropout", stream,
             {writes("y", y, n).may_be("x"), reads("x", x, n), reads("key.step", key.step, 1)});
  if (stream.device().is_cpu()) return (*row.cpu)().dropout(y, x, n, p, key, mode);
  row.launcher.run(y, x, n, p, key, mode, stream);
}

Rungs dropout_rungs() {
  return kLadder.rungs();
}

}  // namespace weft::kernels
