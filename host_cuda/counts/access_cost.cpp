// SPDX-License-Identifier: MIT
#include "host_cuda/counts/access_cost.h"

#include <algorithm>
#include <array>
#include <set>

#include "engine/extent.h"

namespace weft::host_cuda {
namespace {

// The best case: the lanes, as many of them as want different addresses, find these side by side.
AccessCost sectors(const Request& request) {
  std::set<std::uintptr_t> touched, addresses;
  each_lane(request.lanes, [&](std::size_t lane) {
    const std::uintptr_t first = request.address[lane];
    addresses.insert(first);
    for (std::uintptr_t s = first / kSectorBytes; s <= (first + request.bytes - 1) / kSectorBytes;
         ++s) {
      touched.insert(s);
    }
  });
  return {touched.size(), divide_up(addresses.size() * request.bytes, kSectorBytes)};
}

// Do all lanes that take part find their neighbour, `distance` lanes away, at their own address?
bool in_pairs(const Request& request, std::size_t distance) {
  bool equal = true;
  each_lane(request.lanes, [&](std::size_t lane) {
    const std::size_t other = lane ^ distance;
    if ((request.lanes >> other & 1u) == 0) return;
    equal = equal && request.address[lane] == request.address[other];
  });
  return equal;
}

bool all_equal(const Request& request) {
  const auto first = static_cast<std::size_t>(std::countr_zero(request.lanes));
  bool equal = true;
  each_lane(request.lanes, [&](std::size_t lane) {
    equal = equal && request.address[lane] == request.address[first];
  });
  return equal;
}

// The banks deliver 128 bytes at a time: to all lanes at once when each wants 4 bytes, to half of
// them for 8, to a quarter for 16. Twice as many are served together where neighbours want the same
// (NVIDIA for compute capability 7: lanes l and l^1, or l and l^2, throughout), and all where all
// do; but a request of 16 bytes takes two passes at least, as an H200 counts them
// (bench/results/counts-h200.json). A bank delivers one word per pass, to all who want it.
AccessCost bank_passes(const Request& request) {
  AccessCost cost;
  cost.together = std::max<std::size_t>(1, 128 / std::max<std::size_t>(4, request.bytes));
  if (in_pairs(request, 1) || in_pairs(request, 2)) cost.together *= 2;
  if (cost.together > 32 || all_equal(request)) cost.together = request.bytes == 16 ? 16 : 32;
  for (std::size_t begin = 0; begin < 32; begin += cost.together) {
    std::array<std::set<std::uintptr_t>, kBanks> words;
    for (std::size_t lane = begin; lane < std::min<std::size_t>(32, begin + cost.together);
         ++lane) {
      if ((request.lanes >> lane & 1u) == 0) continue;
      const std::uintptr_t first = request.address[lane] / kBankBytes;
      const std::uintptr_t last = (request.address[lane] + request.bytes - 1) / kBankBytes;
      for (std::uintptr_t word = first; word <= last; ++word) words[word % kBanks].insert(word);
    }
    std::size_t most = 0;
    for (const auto& bank : words) most = std::max(most, bank.size());
    cost.transactions += most;
    cost.least += most > 0 ? 1 : 0;
  }
  return cost;
}

}  // namespace

AccessCost cost_of(const Request& request) {
  return is_global(request.kind) ? sectors(request) : bank_passes(request);
}

}  // namespace weft::host_cuda
