// SPDX-License-Identifier: MIT
// The table of the rungs of divergence, and the validation and dispatch of a call.
#include "kernels/divergence/divergence.h"

#include <string>

#include "engine/stream.h"
#include "kernels/checks.h"
#include "kernels/divergence/cpu/table.h"
#include "kernels/divergence/launchers.h"

namespace weft::kernels {
namespace cuda {

struct DivergenceRow {
  using Problem = std::int64_t;  // n

  Rung rung;
  Launcher<DivergenceLauncher> launcher;
  DivergenceTraits traits;

  constexpr bool complete() const {
    return static_cast<bool>(launcher) && launcher.belongs_to("divergence_", rung.name);
  }
  std::string takes(std::int64_t, Device) const { return ""; }
};

constexpr DivergenceRow kDivergenceRows[] = {
    {.rung = {.name = "branch_by_thread",
              .summary = "even threads square, odd ones cube: every warp does both, one after the "
                         "other",
              .prefer = "to see what divergence costs"},
     .launcher = WEFT_LAUNCHER(DivergenceLauncher, divergence_branch_by_thread),
     .traits = {3, true}},
    {.rung = {.name = "predicated",
              .summary =
                  "no branch: each thread multiplies by its value or by 1, so that all do as "
                  "much as the longer side",
              .prefer = "where the sides are short or alike, and on a CPU",
              .on_cpu = true},
     .launcher = WEFT_LAUNCHER(DivergenceLauncher, divergence_predicated),
     .traits = {2, false}},
    {.rung = {.name = "branch_by_warp",
              .summary = "of two warps one takes the even elements and one the odd: all threads of "
                         "a warp agree",
              .prefer = "where the sides are long and data can be shared out by side"},
     .launcher = WEFT_LAUNCHER(DivergenceLauncher, divergence_branch_by_warp),
     .traits = {1.5, false}},
};

}  // namespace cuda

namespace {

Choice automatic(const std::int64_t&, Device device) {
  if (device.is_cpu()) return {"predicated", "the one on a CPU"};
  return {"branch_by_warp", "the fewest multiplications"};
}

constexpr Ladder kLadder("divergence", cuda::kDivergenceRows, automatic);

}  // namespace

void sq_or_cube(std::int32_t* y, const std::int32_t* x, std::int64_t n, int rounds,
                std::string_view variant, const Stream& stream) {
  const cuda::DivergenceRow& row = kLadder.select(variant, n, stream.device());
  if (rounds < 0) throw Error(ErrorKind::usage, str("sq_or_cube: negative rounds ", rounds));
  if (checked_elements("sq_or_cube", {n}) == 0) return;
  check_call("sq_or_cube", stream, {writes("y", y, n).may_be("x"), reads("x", x, n)});
  if (stream.device().is_cpu()) return select_divergence_cpu().sq_or_cube(y, x, n, rounds);
  row.launcher.run(y, x, n, rounds, stream);
}

DivergenceTraits divergence_traits(std::string_view rung) {
  return kLadder.of(rung, &cuda::DivergenceRow::traits);
}

Rungs divergence_rungs() {
  return kLadder.rungs();
}

bool divergence_takes(std::string_view variant, std::int64_t n, Device device) {
  return kLadder.takes(variant, n, device);
}

}  // namespace weft::kernels
