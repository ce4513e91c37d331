// SPDX-License-Identifier: MIT
// What one request of a warp costs, and a sentence that says why.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "host_cuda/counts/requests.h"

namespace weft::host_cuda {

inline constexpr std::uintptr_t kSectorBytes = 32, kBankBytes = 4, kBanks = 32;

struct AccessCost {
  std::uint64_t transactions = 0;  // global: sectors of 32 bytes; shared: passes over the banks
  std::uint64_t least = 0;         // had the lanes' addresses been side by side
  std::size_t together = 32;       // shared: neighbouring lanes that the banks serve at a time
};
AccessCost cost_of(const Request& request);

// "32 lanes read words 32 apart, all in bank 0: 32 passes instead of 1."
std::string sentence_of(const Request& request, const AccessCost& cost);

template <class Visit>
void each_lane(std::uint32_t lanes, const Visit& visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<std::size_t>(std::countr_zero(lanes)));
}

}  // namespace weft::host_cuda
