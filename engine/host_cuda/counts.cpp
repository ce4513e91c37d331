// SPDX-License-Identifier: MIT
#include "engine/host_cuda/counts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <unordered_map>

#include "engine/host_cuda/host_cuda.h"
#include "engine/host_cuda/symbols.h"

namespace weft::host_cuda {
namespace {

constexpr std::uintptr_t kSectorBytes = 32, kBankBytes = 4, kBanks = 32;

struct Request {
  std::uint32_t lanes = 0;  // a bit each
  std::size_t bytes = 0;    // of one lane
  std::array<std::uintptr_t, 32> address;
};

// One place in the code, as an instruction.
struct Instruction {
  LineCounts counts;
  std::unordered_map<int, std::uint32_t> occurrences;  // by thread of the running block
  std::unordered_map<std::uint64_t, Request> open;     // by occurrence and warp
};

struct Kernel {
  KernelCounts counts;
  std::map<std::pair<const void*, AccessKind>, Instruction> instructions;
  std::unordered_map<std::uintptr_t, std::uint64_t> atomics;  // by address
};

bool enabled = false;
std::vector<Kernel> kernels;
Kernel* current = nullptr;

// `least`: had the lanes, as many of them as want different addresses, found these side by side.
std::uint64_t sectors(const Request& request, std::uint64_t& least) {
  std::set<std::uintptr_t> touched, addresses;
  for (std::uint32_t rest = request.lanes; rest != 0; rest &= rest - 1) {
    const std::uintptr_t first = request.address[static_cast<std::size_t>(std::countr_zero(rest))];
    addresses.insert(first);
    for (std::uintptr_t s = first / kSectorBytes; s <= (first + request.bytes - 1) / kSectorBytes;
         ++s) {
      touched.insert(s);
    }
  }
  least += (addresses.size() * request.bytes + kSectorBytes - 1) / kSectorBytes;
  return touched.size();
}

// The banks deliver 128 bytes at a time: all lanes at once when each wants 4 bytes, half of them
// for 8, a quarter for 16. A bank delivers one word per pass, to all who want it.
std::uint64_t bank_passes(const Request& request, std::uint64_t& least) {
  const std::size_t together =
      std::max<std::size_t>(1, 128 / std::max<std::size_t>(4, request.bytes));
  std::uint64_t passes = 0;
  for (std::size_t begin = 0; begin < 32; begin += together) {
    std::array<std::set<std::uintptr_t>, kBanks> words;
    for (std::size_t lane = begin; lane < std::min<std::size_t>(32, begin + together); ++lane) {
      if ((request.lanes >> lane & 1u) == 0) continue;
      const std::uintptr_t first = request.address[lane] / kBankBytes;
      const std::uintptr_t last = (request.address[lane] + request.bytes - 1) / kBankBytes;
      for (std::uintptr_t word = first; word <= last; ++word) words[word % kBanks].insert(word);
    }
    std::size_t most = 0;
    for (const auto& bank : words) most = std::max(most, bank.size());
    passes += most;
    least += most > 0 ? 1 : 0;
  }
  return passes;
}

void close(Instruction& instruction, const Request& request) {
  LineCounts& counts = instruction.counts;
  ++counts.requests;
  counts.lanes += static_cast<std::uint64_t>(std::popcount(request.lanes));
  counts.transactions +=
      is_global(counts.kind) ? sectors(request, counts.least) : bank_passes(request, counts.least);
}

KernelCounts summary(Kernel& kernel) {
  KernelCounts counts = std::move(kernel.counts);
  counts.atomic_addresses = kernel.atomics.size();
  for (const auto& [address, times] : kernel.atomics) {
    counts.atomics += times;
    counts.most_on_an_address = std::max(counts.most_on_an_address, times);
  }
  for (auto& [key, instruction] : kernel.instructions) {
    LineCounts& found = instruction.counts;
    found.line = source_line(key.first);
    const auto same = std::find_if(
        counts.lines.begin(), counts.lines.end(),
        [&](const LineCounts& one) { return one.line == found.line && one.kind == found.kind; });
    if (same == counts.lines.end()) {
      counts.lines.push_back(found);
      continue;
    }
    same->requests += found.requests;
    same->lanes += found.lanes;
    same->transactions += found.transactions;
    same->least += found.least;
  }
  return counts;
}

}  // namespace

bool counting() {
  return enabled;
}

void count_launch(const Grid& grid) {
  const std::string name = function_name(grid.call->kernel());
  const auto same = std::find_if(kernels.begin(), kernels.end(),
                                 [&](const Kernel& one) { return one.counts.kernel == name; });
  current = same != kernels.end() ? &*same : &kernels.emplace_back();
  current->counts.kernel = name;
  ++current->counts.launches;
}

void count_access(const Thread& thread, std::uintptr_t address, std::size_t bytes, AccessKind kind,
                  const void* site) {
  Instruction& instruction = current->instructions[{site, kind}];
  instruction.counts.kind = kind;
  if (kind == AccessKind::global_atomic || kind == AccessKind::shared_atomic) {
    ++current->atomics[address];
  }
  const std::uint64_t occurrence = instruction.occurrences[thread.id]++;
  const auto warp = static_cast<std::uint64_t>(thread.id / 32);
  const std::uint64_t key = occurrence << 5 | warp;
  Request& request = instruction.open[key];
  const auto lane = static_cast<std::size_t>(thread.id % 32);
  request.lanes |= 1u << lane;
  request.bytes = bytes;
  request.address[lane] = address;
  if (request.lanes == 0xffffffffu) {
    close(instruction, request);
    instruction.open.erase(key);
  }
}

void count_block_end(const Block& block) {
  ++current->counts.blocks;
  current->counts.threads += static_cast<std::uint64_t>(block.threads);
  current->counts.barriers += block.phase;
  for (auto& [key, instruction] : current->instructions) {
    for (const auto& [number, request] : instruction.open) close(instruction, request);
    instruction.open.clear();
    instruction.occurrences.clear();
  }
}

}  // namespace weft::host_cuda

namespace weft {

std::vector<KernelCounts> count_accesses(const std::function<void()>& work) {
  using namespace host_cuda;
  struct Counting {
    Counting() { enabled = true; }
    ~Counting() {
      enabled = false;
      kernels.clear();
    }
  } while_this_lives;
  work();
  std::vector<KernelCounts> counts;
  for (Kernel& kernel : kernels) counts.push_back(summary(kernel));
  return counts;
}

}  // namespace weft
