// SPDX-License-Identifier: MIT
// The table of the rungs of transpose, and the validation and dispatch of a call.
#include "kernels/transpose/transpose.h"

#include <string>

#include "engine/stream.h"
#include "kernels/checks.h"
#include "kernels/transpose/cpu/table.h"
#include "kernels/transpose/launchers.h"

namespace weft::kernels {
namespace cuda {

struct TransposeRow {
  using Problem = TransposeDims;

  Rung rung;
  Launcher<TransposeLauncher> launcher;
  bool blocked = false;  // on a CPU: tile by tile instead of row by row

  constexpr bool complete() const {
    return rung.on_cuda == static_cast<bool>(launcher) &&
           launcher.belongs_to("transpose_", rung.name);
  }
  std::string takes(const TransposeDims&, Device) const { return ""; }
};

constexpr TransposeRow kTransposeRows[] = {
    {.rung = {.name = "naive",
              .summary = "one thread per element: reads follow the rows of x and coalesce, writes "
                         "are a row of y apart",
              .prefer = "to read first, or to check a result",
              .on_cpu = true},
     .launcher = WEFT_LAUNCHER(TransposeLauncher, transpose_naive)},
    {.rung = {.name = "tiled",
              .summary =
                  "a tile is turned in shared memory, so that reads and writes coalesce; its "
                  "columns lie in one bank",
              .prefer = "on a CPU, and to see bank conflicts",
              .on_cpu = true},
     .launcher = WEFT_LAUNCHER(TransposeLauncher, transpose_tiled),
     .blocked = true},
    {.rung = {.name = "padded",
              .summary =
                  "one float more in each row of the tile: its columns spread over all banks",
              .prefer = "to see what padding gains",
              .padded = {132, 4}},
     .launcher = WEFT_LAUNCHER(TransposeLauncher, transpose_padded)},
    {.rung = {.name = "swizzled",
              .summary = "the same without the padding: element (i, j) of the tile is stored at "
                         "column i XOR j",
              .prefer = "for extents that are no multiple of 4"},
     .launcher = WEFT_LAUNCHER(TransposeLauncher, transpose_swizzled)},
    {.rung = {.name = "vectorized",
              .summary =
                  "a thread turns 4 x 4 elements in registers: every load and store, also of "
                  "shared memory, has 16 bytes",
              .prefer = "for extents that are multiples of 4"},
     .launcher = WEFT_LAUNCHER(TransposeLauncher, transpose_vectorized)},
};

}  // namespace cuda

namespace {

Choice automatic(const TransposeDims& dims, Device device) {
  if (device.is_cpu()) return {"tiled", "a tile of both matrices fits the L1 cache"};
  if (dims.rows % 4 == 0 && dims.cols % 4 == 0) {
    return {"vectorized", "rows of both matrices are whole vectors of 16 bytes"};
  }
  return {"swizzled", "rows are no whole vectors of 16 bytes"};
}

constexpr Ladder kLadder("transpose", cuda::kTransposeRows, automatic);

}  // namespace

void transpose(float* y, const float* x, const TransposeDims& dims, std::string_view variant,
               const Stream& stream) {
  const cuda::TransposeRow& row = kLadder.select(variant, dims, stream.device());
  const std::int64_t n = checked_elements("transpose", {dims.rows, dims.cols});
  if (n == 0) return;
  check_call("transpose", stream, {writes("y", y, n), reads("x", x, n)});
  if (stream.device().is_cpu()) {
    const TransposeCpu& cpu = select_transpose_cpu();
    return row.blocked ? cpu.tiled(y, x, dims) : cpu.naive(y, x, dims);
  }
  row.launcher.run(y, x, dims, stream);
}

Rungs transpose_rungs() {
  return kLadder.rungs();
}

bool transpose_takes(std::string_view variant, const TransposeDims& dims, Device device) {
  return kLadder.takes(variant, dims, device);
}

Choice transpose_choice(const TransposeDims& dims, Device device) {
  return kLadder.choose(dims, device);
}

}  // namespace weft::kernels
