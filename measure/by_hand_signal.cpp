// SPDX-License-Identifier: MIT
// Convolutions by hand: what a tile loads, how often it uses that, and what the halo costs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "measure/by_hand.h"

namespace weft::measure {
namespace {

// Taps of a mask of `mask` that are within [low, high) for the outputs [0, tile), added up.
double taps_within(std::int64_t tile, std::int64_t mask, std::int64_t low, std::int64_t high) {
  std::int64_t taps = 0;
  for (std::int64_t out = 0; out < tile; ++out) {
    const std::int64_t first = std::max(low, out - mask / 2);
    const std::int64_t last = std::min(high, out - mask / 2 + mask);
    taps += std::max<std::int64_t>(0, last - first);
  }
  return static_cast<double>(taps);
}

// The outputs of a block in each dimension of the signal.
std::vector<std::int64_t> own_tile(const kernels::SignalDims& d, bool threads_load_halo) {
  if (d.rank() == 3) return {4, 8, 32};
  if (d.rank() == 2) return {32, 32};
  return {threads_load_halo ? 1025 - d.filter_width : 1024};
}

}  // namespace

TileReuse tile_reuse(std::span<const std::int64_t> tile, std::span<const std::int64_t> mask) {
  TileReuse reuse{1, 1, 1, 1, 1};
  for (std::size_t i = 0; i < tile.size(); ++i) {
    const std::int64_t far = tile[i] + mask[i];  // beyond every element that the tile uses
    const std::int64_t halo = mask[i] - 1 - mask[i] / 2;
    reuse.uses *= static_cast<double>(tile[i] * mask[i]);
    reuse.loads *= static_cast<double>(tile[i] + mask[i] - 1);
    reuse.border_uses *= taps_within(tile[i], mask[i], 0, far);
    reuse.border_loads *= static_cast<double>(tile[i] + halo);
    reuse.uses_in_tile *= taps_within(tile[i], mask[i], 0, tile[i]);
  }
  return reuse;
}

std::vector<Fact> signal_facts(const kernels::SignalDims& d, std::string_view variant,
                               std::int64_t side) {
  const double outputs = static_cast<double>(d.elements());
  const double taps = static_cast<double>(d.taps()), flops = 2 * outputs * taps;
  std::vector<Fact> facts;
  using kernels::SignalLoads;
  const kernels::SignalTraits traits = kernels::signal_traits(variant);
  if (traits.loads == SignalLoads::none) return facts;
  if (traits.loads == SignalLoads::element_and_tap) {
    add_loads(facts, 2 * taps * outputs, outputs, flops,
              "an element and a tap for each product; borders not counted off");
    return facts;
  }
  if (traits.loads == SignalLoads::element) {
    add_loads(facts, taps * outputs, outputs, flops, "an element for each product");
    return facts;
  }
  const auto rank = static_cast<std::size_t>(d.rank());
  const std::int64_t extents[] = {d.filter_depth, d.filter_height, d.filter_width};
  const std::span<const std::int64_t> mask = std::span(extents).last(rank);
  const std::vector<std::int64_t> tile =
      side > 0 ? std::vector<std::int64_t>(rank, side) : own_tile(d, traits.threads_load_halo);
  const TileReuse reuse = tile_reuse(tile, mask);
  double size = 1;  // outputs of a tile
  for (const std::int64_t extent : tile) size *= static_cast<double>(extent);
  // The cached halo is not staged: it is read for each tap out there.
  const bool cached = traits.loads == SignalLoads::tile_without_halo;
  const double loads = cached ? size + reuse.uses - reuse.uses_in_tile : reuse.loads;
  add_loads(facts, loads / size * outputs, outputs, flops,
            fmt::format("{:.0f} elements for {:.0f} outputs of a block", loads, size));
  const auto add = [&](const char* name, double value, std::string text) {
    facts.push_back({name, value, std::move(text)});
  };
  add("share of the halo", (loads - size) / loads,
      fmt::format("{:.1f} % of the elements that a block loads", 100 * (loads - size) / loads));
  add("uses of an element", reuse.uses / loads,
      fmt::format("{:.0f} products for {:.0f} loads of a tile of {} under a mask of {}: {:.4g}",
                  reuse.uses, loads, fmt::join(tile, " x "), fmt::join(mask, " x "),
                  reuse.uses / loads));
  if (cached) {
    add("products in the tile", reuse.uses_in_tile,
        fmt::format("{:.0f} of {:.0f} read shared memory, the other {:.0f} the cache",
                    reuse.uses_in_tile, reuse.uses, reuse.uses - reuse.uses_in_tile));
    return facts;
  }
  add("uses at the border", reuse.border_uses / reuse.border_loads,
      fmt::format("{:.0f} products for {:.0f} loads of a tile in the corner: {:.4g}",
                  reuse.border_uses, reuse.border_loads, reuse.border_uses / reuse.border_loads));
  add("shared memory of a tile", 4 * loads, fmt::format("{:.0f} bytes, with its halo", 4 * loads));
  return facts;
}

}  // namespace weft::measure
