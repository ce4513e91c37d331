// SPDX-License-Identifier: MIT
// A request in words.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/error.h"
#include "host_cuda/counts/access_cost.h"

namespace weft::host_cuda {
namespace {

// "1 sector", "4 sectors"
std::string many(std::uint64_t count, const char* one, const char* more) {
  return str(count, " ", count == 1 ? one : more);
}
std::string lanes_text(std::uint64_t count) {
  return many(count, "lane", "lanes");
}

const char* verb(AccessKind kind, bool one) {
  if (is_atomic(kind)) return one ? "updates" : "update";
  const bool load = kind == AccessKind::global_load || kind == AccessKind::shared_load;
  return load ? one ? "reads" : "read" : one ? "writes" : "write";
}

// What the addresses of a request have in common.
struct Pattern {
  std::uint64_t lanes = 0, places = 0;   // lanes that take part; different addresses
  std::uint64_t most = 0;                // lanes on one address
  std::uint64_t used = 0;                // different bytes
  std::uint64_t pieces = 0;              // runs of bytes without a gap
  std::optional<std::int64_t> distance;  // from each lane to the next, in bytes, where it is one
};

Pattern pattern_of(const Request& request) {
  Pattern found;
  std::map<std::uintptr_t, std::uint64_t> on_address;
  std::optional<std::size_t> before;
  bool regular = true;
  each_lane(request.lanes, [&](std::size_t lane) {
    ++found.lanes;
    found.most = std::max(found.most, ++on_address[request.address[lane]]);
    if (before) {
      const auto apart = static_cast<std::int64_t>(request.address[lane]) -
                         static_cast<std::int64_t>(request.address[*before]);
      const auto steps = static_cast<std::int64_t>(lane - *before);
      if (apart % steps != 0) {
        regular = false;
      } else if (!found.distance) {
        found.distance = apart / steps;
      }
      regular = regular && found.distance == apart / steps;
    }
    before = lane;
  });
  if (!regular) found.distance.reset();
  found.places = on_address.size();
  std::uintptr_t end = 0;
  for (const auto& [address, times] : on_address) {
    const std::uintptr_t from = std::max(end, address), to = address + request.bytes;
    if (end == 0 || address > end) ++found.pieces;
    if (to > from) found.used += to - from;
    end = std::max(end, to);
  }
  return found;
}

// "32 sectors instead of 4"
std::string cost_text(const AccessCost& cost, const char* one, const char* more) {
  const std::string text = many(cost.transactions, one, more);
  return cost.transactions > cost.least ? str(text, " instead of ", cost.least) : text;
}

std::string global_sentence(const Request& request, const AccessCost& cost, const Pattern& found) {
  const std::uint64_t moved = cost.transactions * kSectorBytes;
  const std::string used = found.used == moved
                               ? ", every byte of them used"
                               : str("; ", found.used, " of ", moved, " bytes are used");
  std::string text = str(lanes_text(found.lanes), " ", verb(request.kind, found.lanes == 1), " ");
  if (found.lanes == 1) {
    text += many(request.bytes, "byte", "bytes");
  } else if (found.places == 1) {
    text += "the same " + many(request.bytes, "byte", "bytes");
  } else {
    text += many(request.bytes, "byte", "bytes") + " each, ";
    const std::int64_t distance = found.distance.value_or(0);
    const std::int64_t apart = distance < 0 ? -distance : distance;
    if (apart == request.bytes) {
      text += distance < 0 ? "side by side, backwards" : "side by side";
    } else if (found.distance) {
      text += str(apart, " bytes apart");
    } else if (found.pieces == 1) {
      text += str("within ", found.used, " bytes without a gap");
    } else {
      text += str("in ", found.pieces, " separate pieces");
    }
    if (found.pieces == 1 && cost.transactions > cost.least) {
      text += ", but not from the start of a sector";
    }
  }
  return text + ": " + cost_text(cost, "sector", "sectors") + used;
}

// The bank with the most different words, of the lanes that are served together, and how many.
std::pair<std::uint64_t, std::uint64_t> fullest_bank(const Request& request, std::size_t together) {
  std::pair<std::uint64_t, std::uint64_t> fullest{0, 0};
  for (std::size_t begin = 0; begin < 32; begin += together) {
    std::array<std::set<std::uintptr_t>, kBanks> words;
    each_lane(request.lanes, [&](std::size_t lane) {
      if (lane < begin || lane >= begin + together) return;
      const std::uintptr_t last = (request.address[lane] + request.bytes - 1) / kBankBytes;
      for (std::uintptr_t word = request.address[lane] / kBankBytes; word <= last; ++word) {
        words[word % kBanks].insert(word);
      }
    });
    for (std::uint64_t bank = 0; bank < kBanks; ++bank) {
      if (words[bank].size() > fullest.second) fullest = {bank, words[bank].size()};
    }
  }
  return fullest;
}

std::string shared_sentence(const Request& request, const AccessCost& cost, const Pattern& found) {
  const bool words = request.bytes == kBankBytes;
  const std::string size = words ? "word" : many(request.bytes, "byte", "bytes");
  const std::string passes = cost_text(cost, "pass", "passes");
  std::string text = str(lanes_text(found.lanes), " ", verb(request.kind, found.lanes == 1), " ");
  if (found.lanes == 1) return text + (words ? "one word: " : size + ": ") + passes;
  if (found.places == 1) {
    const bool load = request.kind == AccessKind::shared_load;
    return text + str("the same ", size, load ? ", a broadcast: " : ": ", passes);
  }
  const std::int64_t distance = found.distance.value_or(0);
  const std::int64_t apart = distance < 0 ? -distance : distance;
  if (found.distance && apart != request.bytes && apart % static_cast<int>(kBankBytes) == 0) {
    text += words ? str("words ", apart / static_cast<int>(kBankBytes), " apart")
                  : str(size, " each, ", apart, " bytes apart");
  } else if (apart == request.bytes) {
    text += words ? str(found.places, " words side by side") : size + " each, side by side";
  } else {
    text += words ? str(found.places, " different words") : size + " each";
  }
  if (cost.transactions == cost.least) {
    if (words) return text + ", no two in one bank: " + passes;
    return text + str(": ", passes, ", the fewest for ", found.used, " bytes");
  }
  const auto [bank, most] = fullest_bank(request, cost.together);
  if (words && found.distance && apart % 128 == 0) {
    return text + str(", all in bank ", bank, ": ", passes);
  }
  return text + str(", up to ", most, " words in one bank (bank ", bank, "): ", passes);
}

}  // namespace

std::string sentence_of(const Request& request, const AccessCost& cost) {
  const Pattern found = pattern_of(request);
  std::string text = is_global(request.kind) ? global_sentence(request, cost, found)
                                             : shared_sentence(request, cost, found);
  if (is_atomic(request.kind) && found.most > 1) {
    text += str("; ", found.most, " lanes update one address, one after another");
  }
  return text + ".";
}

}  // namespace weft::host_cuda
