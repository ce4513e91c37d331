// SPDX-License-Identifier: MIT
// The table of the rungs of signal convolution, and the validation and dispatch of a call.
#include "kernels/signal/signal.h"

#include <string>

#include "kernels/checks.h"
#include "kernels/signal/cpu/table.h"
#include "kernels/signal/launchers.h"
#include "kernels/signal/parts/tile.h"

namespace weft::kernels {
namespace cuda {

struct SignalRow {
  using Problem = SignalDims;

  Rung rung;
  Launcher<SignalLauncher> launcher = {};
  int largest_rank = 3;
  SignalTraits traits = {};
  std::int64_t most_taps = kSignalTaps;
  bool stages_window = false;  // a tile of rank 2 or 3 with its halo, in dynamic shared memory

  constexpr bool complete() const {
    return rung.on_cuda == static_cast<bool>(launcher) && launcher.belongs_to("signal_", rung.name);
  }
  std::string takes(const SignalDims& dims, Device device) const {
    if (dims.rank() < traits.least_rank || dims.rank() > largest_rank) {
      return str("it needs ", rung.needs, ", found rank ", dims.rank());
    }
    if (dims.taps() > most_taps) {
      return str("it needs at most ", most_taps, " taps, found ", dims.taps());
    }
    if (!stages_window || device.is_cpu()) return "";
    const std::int64_t needed = signal_tile_bytes(dims);
    const auto there = static_cast<std::int64_t>(device_properties(device).shared_bytes_per_block);
    if (needed <= there) return "";
    return str("its tile needs ", needed, " bytes of shared memory, ", device, " has ", there);
  }
};

#define WEFT_SIGNAL(name) WEFT_LAUNCHER(SignalLauncher, name)

constexpr SignalRow kSignalRows[] = {
    {.rung = {.name = "naive",
              .summary = "one thread per output: signal and filter come from memory for every tap",
              .prefer = "on a CPU, and to read first",
              .on_cpu = true},
     .launcher = WEFT_SIGNAL(signal_naive),
     .traits = {.loads = SignalLoads::element_and_tap}},
    {.rung = {.name = "constant_memory",
              .summary = "the filter in constant memory, whose cache hands one value to a whole "
                         "warp",
              .prefer = "to see what the constant cache gains",
              .needs = "no overlap of calls on different streams"},
     .launcher = WEFT_SIGNAL(signal_constant_memory),
     .traits = {.loads = SignalLoads::element}},
    {.rung = {.name = "tiled_halo_internal",
              .summary = "threads match the output tile: they load it, then its two halos",
              .prefer = "for signals",
              .needs = "a signal (rank 1) and at most 512 taps"},
     .launcher = WEFT_SIGNAL(signal_tiled_halo_internal),
     .largest_rank = 1,
     .traits = {.loads = SignalLoads::tile},
     .most_taps = kSignalTiledTaps},
    {.rung = {.name = "tiled_input",
              .summary = "threads match the input tile: one load each, and some compute nothing",
              .prefer = "to see what threads that compute nothing cost",
              .needs = "a signal (rank 1) and at most 512 taps"},
     .launcher = WEFT_SIGNAL(signal_tiled_input),
     .largest_rank = 1,
     .traits = {.loads = SignalLoads::tile, .threads_load_halo = true},
     .most_taps = kSignalTiledTaps},
    {.rung = {.name = "tiled_cached_halo",
              .summary = "only the tile itself is staged: halos come from memory, by way of the "
                         "cache",
              .prefer = "to see what the cache makes of halos",
              .needs = "a signal (rank 1) and at most 512 taps"},
     .launcher = WEFT_SIGNAL(signal_tiled_cached_halo),
     .largest_rank = 1,
     .traits = {.loads = SignalLoads::tile_without_halo},
     .most_taps = kSignalTiledTaps},
    {.rung = {.name = "tiled",
              .summary = "a tile and its halo in shared memory, four outputs in a thread",
              .prefer = "for images and volumes",
              .needs = "an image or a volume (rank 2 or 3)"},
     .launcher = WEFT_SIGNAL(signal_tiled),
     .traits = {.loads = SignalLoads::tile, .least_rank = 2},
     .stages_window = true},
};

#undef WEFT_SIGNAL

}  // namespace cuda

namespace {

Choice automatic(const SignalDims& dims, Device device);
constexpr Ladder kLadder("signal", cuda::kSignalRows, automatic);

Choice automatic(const SignalDims& dims, Device device) {
  if (device.is_cpu()) return {"naive", "the one on a CPU"};
  const Choice tiled = dims.rank() == 1
                           ? Choice{"tiled_halo_internal", "every element is loaded about once"}
                           : Choice{"tiled", "a tap from shared memory serves four outputs"};
  if (kLadder.takes(tiled.rung, dims, device)) return tiled;
  return {"naive", "the filter is too large for tiles"};
}

std::string describe(const SignalDims& d) {
  return str("signal_convolve (", d.depth, ", ", d.height, ", ", d.width, ") with filter (",
             d.filter_depth, ", ", d.filter_height, ", ", d.filter_width, ")");
}

void check(const SignalDims& d) {
  static_cast<void>(checked_elements("signal_convolve", {d.depth, d.height, d.width, 4}));
  const std::int64_t largest = kSignalFilter[d.rank()];
  for (const std::int64_t extent : {d.filter_depth, d.filter_height, d.filter_width}) {
    if (extent < 1 || extent > largest) {
      throw Error(ErrorKind::usage, str(describe(d), ": filter extents of rank ", d.rank(),
                                        " lie in [1, ", largest, "], found ", extent));
    }
  }
}

}  // namespace

void signal_convolve(float* y, const float* x, const float* filter, const SignalDims& dims,
                     const SignalOptions& options, const Stream& stream) {
  check(dims);
  const cuda::SignalRow& row = kLadder.select(options.variant, dims, stream.device());
  const std::int64_t n = dims.elements();
  if (n == 0) return;
  check_call("signal_convolve", stream,
             {writes("y", y, n), reads("x", x, n), reads("filter", filter, dims.taps())});
  if (stream.device().is_cpu()) return select_signal_cpu().convolve(y, x, filter, dims);
  row.launcher.run(y, x, filter, dims, stream);
}

SignalTraits signal_traits(std::string_view rung) {
  return kLadder.of(rung, &cuda::SignalRow::traits);
}

Rungs signal_rungs() {
  return kLadder.rungs();
}

bool signal_takes(std::string_view variant, const SignalDims& dims, Device device) {
  return kLadder.takes(variant, dims, device);
}

Choice signal_choice(const SignalDims& dims, Device device) {
  return kLadder.choose(dims, device);
}

}  // namespace weft::kernels
