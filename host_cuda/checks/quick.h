// SPDX-License-Identifier: MIT
// The access that nearly all accesses are: a plain read or write of whole words, which nothing is
// wrong with, and which says so by the words' own cells. All others go to Shadow::access(), which
// leaves the same in the cells. With this path a tiled matrix product takes half the instructions.
#pragma once

#include <array>
#include <cstring>

#include "host_cuda/checks/order.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/shadow.h"
#include "host_cuda/memory/written.h"

namespace weft::host_cuda {

// False where Shadow::access() has to judge; then nothing is changed.
template <bool kReads, std::size_t kBytes>
[[gnu::always_inline]] inline bool Shadow::quick(std::uintptr_t address, const Thread& by,
                                                 const void* site) {
  static_assert(kBytes % 4 == 0);
  constexpr std::size_t kWords = kBytes / 4;
  const auto& [known_site, site_number] = recent_site(site);
  const std::uintptr_t number = address / kPageBytes, at = address % kPageBytes;
  const View& view = views_[number % views_.size()];
  if (known_site != site || view.number != number || view.granule != 4 ||
      at % (kBytes < 8 ? 4 : 8) != 0 || at + kBytes > kPageBytes) {
    return false;
  }
  const Block& block = *by.block;
  const auto is_own = [&](Stamp earlier) __attribute__((always_inline)) {
    return earlier.segment >= block.alone_since;
  };
  const auto settled = [&](Stamp earlier) __attribute__((always_inline)) {
    return is_own(earlier) ? earlier.segment < block.ordered || earlier.thread() == by.id
                           : earlier.segment < oldest_;
  };
  Cell* const cells = view.cells + at / 4;
  std::array<std::size_t, kWords> reader{};
  for (std::size_t i = 0; i < kWords; ++i) {
    const Cell& cell = cells[i];
    if (!settled(cell.write) || cell.write.access() == Access::async_write) return false;
    if constexpr (kReads) {
      if (cell.write.segment < first_) {  // not in this grid
        if (written_ == nullptr) return false;
        std::uint32_t value = 0;
        std::memcpy(&value, reinterpret_cast<const void*>(address + i * 4), 4);
        if (cell.write.segment == 0 && value == kUnwrittenWord) return false;
      }
      if (!settled(cell.read[0])) {
        if (!is_own(cell.read[0]) || !block.only_barriers) return false;
        reader[i] = 1;
      }
    } else if (!settled(cell.read[0]) || !settled(cell.read[1])) {
      return false;
    }
  }
  const Stamp stamp(current_segment(), site_number, by.id, kReads ? Access::read : Access::write);
  for (std::size_t i = 0; i < kWords; ++i) {
    (kReads ? cells[i].read[reader[i]] : cells[i].write) = stamp;
  }
  return true;
}

}  // namespace weft::host_cuda
