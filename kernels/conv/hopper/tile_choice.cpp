// SPDX-License-Identifier: MIT
#include "kernels/conv/hopper/tile_choice.h"

#include <algorithm>

#include "engine/extent.h"

namespace weft::kernels {
namespace {

// Clocks until the last block is done, each with a multiprocessor to itself.
double cost(const WgmmaTile& tile, const WgmmaWork& work, std::int64_t processors) {
  // Clocks of the products of a chunk at a tap: 4 steps with one copy of the filters and 6 with
  // two, each kWgmmaPixels / 2 clocks for each consumer.
  const double of_chunk = (2.0 + 2 * work.filter_copies) * kWgmmaConsumers * kWgmmaPixels / 2;
  constexpr double kBytesPerClock = 45;  // from L2 when all multiprocessors copy
  constexpr double kLatency = 2000;      // of a copy, then
  // Sums to memory, while no product runs: 16 bytes at a time, or one by one.
  constexpr double kStoreQuads = 3000, kStoreSingly = 40000;
  const std::int64_t boxes = divide_up(work.width, tile.width) *
                             divide_up(work.height, tile.height) *
                             divide_up(work.images, tile.images);
  const std::int64_t tiles = boxes * divide_up(work.rows, tile.filters);
  const double taps = static_cast<double>(work.chunks) * work.taps_h * work.taps_w;
  // A stage of pixels is copied, and multiplied when its turn comes, while the others are.
  const double products = tile.taps * of_chunk,
               copying = tile.taps * tile.bytes_per_tap() / kBytesPerClock;
  const double turn = (kLatency + copying + products) / tile.pixel_stages();
  const double tap = std::max({products, copying, turn}) / tile.taps;
  const double store = tile.stores_quads(work) ? kStoreQuads : kStoreSingly;
  return static_cast<double>(divide_up(tiles, processors)) * (taps * tap + store);
}

}  // namespace

bool WgmmaTile::stores_quads(const WgmmaWork& work) const {
  const bool rows = width == work.width;  // whole ones: a box is a run of its plane
  const std::int64_t run = rows ? std::int64_t{height} * width : width;
  const std::int64_t line = rows ? work.height * work.width : work.width;
  return run % 4 == 0 && line % 4 == 0 && work.height * work.width % 4 == 0;
}

WgmmaTile choose_wgmma_tile(const WgmmaWork& work, std::int64_t processors) {
  constexpr std::int64_t kMostBox = 256;  // of the copy engine, in each direction
  WgmmaTile best;
  double best_cost = -1;
  const auto offer = [&](const WgmmaTile& tile) {
    if (!tile.fits()) return;
    const double clocks = cost(tile, work, processors);
    // Wide boxes come first: their results are longer runs of memory.
    if (best_cost < 0 || clocks < 0.95 * best_cost) best = tile, best_cost = clocks;
  };
  for (const int filters : {128, 64}) {
    WgmmaTile tile;
    tile.filters = filters;
    tile.filter_copies = work.filter_copies;
    const std::int64_t most_width = std::min<std::int64_t>(tile.pixels(), kMostBox);
    const std::int64_t first = divide_up(work.width, most_width);  // boxes beside each other
    for (std::int64_t parts = first; parts < first + 8 && parts <= work.width; ++parts) {
      const std::int64_t width = divide_up(work.width, parts);
      const std::int64_t most_height = std::min(tile.pixels() / width, kMostBox);
      std::int64_t height = divide_up(work.height, divide_up(work.height, most_height));
      if (parts == 1 && height < work.height) {  // a few rows more may hold whole quads
        std::int64_t taller = height;
        while (taller < most_height && taller * width % 4 != 0) ++taller;
        if (taller * width % 4 == 0) height = taller;
      }
      const bool whole = parts == 1 && height == work.height;
      const std::int64_t images =
          whole ? std::min({work.images, tile.pixels() / (width * height), kMostBox}) : 1;
      tile.width = static_cast<int>(width);
      tile.height = static_cast<int>(height);
      tile.images = static_cast<int>(images);
      tile.taps = 1;
      offer(tile);
      tile.taps = work.taps_h;
      if (tile.taps > 1 && images == 1 && tile.box_height() <= kMostBox) offer(tile);
    }
  }
  return best;
}

}  // namespace weft::kernels
