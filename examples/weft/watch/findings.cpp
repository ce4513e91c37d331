// SPDX-License-Identifier: MIT
// What the counts of a run say, in figures and sentences.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/extent.h"
#include "examples/weft/watch/page.h"

namespace weft::cli {
namespace {

struct Sum {
  std::uint64_t requests = 0, transactions = 0, least = 0;
};

struct Totals {
  Sum global, shared;
  std::uint64_t launches = 0, blocks = 0, barriers = 0, warps = 0, divergent_warps = 0;
  std::uint64_t atomics = 0, most_on_an_address = 0;
  std::uint64_t threads = 0, steps = 0, lanes_of_steps = 0;
};

Totals totals_of(const std::vector<KernelCounts>& counts) {
  Totals sum;
  for (const KernelCounts& kernel : counts) {
    sum.launches += kernel.launches;
    sum.blocks += kernel.blocks;
    sum.barriers += kernel.barriers;
    sum.warps += kernel.warps;
    sum.divergent_warps += kernel.divergent_warps;
    sum.threads += kernel.threads;
    sum.steps += kernel.steps;
    sum.lanes_of_steps += kernel.lanes_of_steps;
    for (const AtomicCounts& atomics : {kernel.global_atomics, kernel.shared_atomics}) {
      sum.atomics += atomics.operations;
      sum.most_on_an_address = std::max(sum.most_on_an_address, atomics.most_on_an_address);
    }
    for (const LineCounts& line : kernel.lines) {
      Sum& to = is_global(line.kind) ? sum.global : sum.shared;
      to.requests += line.requests;
      to.transactions += line.transactions;
      to.least += line.least;
    }
  }
  return sum;
}

std::string against_best(const Sum& sum, const char* what) {
  const std::string text =
      fmt::format("{} {} in {} requests", grouped(sum.transactions), what, grouped(sum.requests));
  if (sum.transactions <= sum.least) return text + ", the fewest for them";
  return fmt::format("{}; {} would do at best", text, grouped(sum.least));
}

std::string worst_line(const std::vector<KernelCounts>& counts, bool global) {
  const LineCounts* worst = nullptr;
  const auto excess = [](const LineCounts& line) {
    return line.transactions - std::min(line.transactions, line.least);
  };
  for (const KernelCounts& kernel : counts) {
    for (const LineCounts& line : kernel.lines) {
      if (is_global(line.kind) != global || excess(line) == 0) continue;
      if (worst == nullptr || excess(line) > excess(*worst)) worst = &line;
    }
  }
  if (worst == nullptr) return "";
  const auto each = [&](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(worst->requests);
  };
  return fmt::format(
      "The line that loses most is {}: {:.1f} {} for each request, where {:.1f} would do. ",
      worst->line, each(worst->transactions), global ? "sectors" : "passes", each(worst->least));
}

// Few enough beyond the fewest to be left alone: a fiftieth.
bool at_best(const Sum& sum) {
  return sum.transactions - std::min(sum.transactions, sum.least) <= sum.least / 50;
}

std::string global_finding(const Watched& watched, const Sum& sum) {
  if (sum.requests == 0) return "";
  std::string text =
      at_best(sum)
          ? fmt::format(
                "Requests to global memory are coalesced: they take {} sectors of 32 bytes, "
                "and the fewest for them are {}. ",
                grouped(sum.transactions), grouped(sum.least))
          : fmt::format(
                "Requests to global memory take {} sectors of 32 bytes, where {} would do. "
                "{}",
                grouped(sum.transactions), grouped(sum.least), worst_line(watched.counts, true));
  const double moved = static_cast<double>(sum.transactions) * 32;
  if (watched.bytes > 0 && moved >= 1.5 * watched.bytes) {
    text += fmt::format("They move {} bytes, {:.1f} times the {} bytes that the problem needs. ",
                        grouped(sum.transactions * 32), moved / watched.bytes,
                        grouped(static_cast<std::uint64_t>(watched.bytes)));
  }
  return text;
}

std::string shared_finding(const Watched& watched, const Sum& sum) {
  if (sum.requests == 0) return "";
  if (at_best(sum)) {
    return fmt::format("Shared memory has no bank conflicts: its {} requests take {} passes. ",
                       grouped(sum.requests), grouped(sum.transactions));
  }
  return fmt::format("Bank conflicts cost {} passes over shared memory, where {} would do. {}",
                     grouped(sum.transactions), grouped(sum.least),
                     worst_line(watched.counts, false));
}

double idle_share(const Totals& sum) {  // of the lanes in the steps of warps
  if (sum.steps == 0) return 0;
  return 1 - static_cast<double>(sum.lanes_of_steps) / (32 * static_cast<double>(sum.steps));
}

std::string idle_finding(const Watched& watched, const Totals& sum) {
  constexpr double kLeftAlone = 0.02;
  if (sum.steps == 0) return "";
  if (idle_share(sum) < kLeftAlone) return "Nearly no lane is ever idle. ";
  const BranchCounts* worst = nullptr;
  for (const KernelCounts& kernel : watched.counts) {
    for (const BranchCounts& one : kernel.branches) {
      if (one.divergent > 0 && (worst == nullptr || one.divergent > worst->divergent)) worst = &one;
    }
  }
  std::string text = fmt::format("{:.0f} % of the lanes are idle. ", 100 * idle_share(sum));
  if (worst != nullptr) {
    text += fmt::format("The lanes of {} of {} warps part, most often at {}. ",
                        grouped(sum.divergent_warps), grouped(sum.warps), worst->line);
  }
  if (sum.threads < 32 * sum.warps) {
    text += fmt::format(
        "{} of {} lanes have no thread: a block fills its last warp only with a multiple of 32 "
        "threads. ",
        grouped(32 * sum.warps - sum.threads), grouped(32 * sum.warps));
  }
  return text;
}

std::string atomic_finding(const Totals& sum) {
  constexpr std::uint64_t kFew = 32;
  if (sum.atomics == 0) return "";
  const std::string text = fmt::format("{} atomic operations", grouped(sum.atomics));
  if (sum.most_on_an_address <= kFew) return text + " meet few others on their address. ";
  return text + fmt::format(": up to {} on one address, and those go one after the other. ",
                            grouped(sum.most_on_an_address));
}

// The warps of a block that can be on a multiprocessor of an A100 at once, and by what that is
// limited. (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", 8.0)
struct Occupancy {
  std::uint64_t warps = 64;
  std::string limit;
};
Occupancy occupancy_of(const TracedLaunch& launch, std::uint64_t static_bytes) {
  constexpr std::uint64_t kWarps = 64, kBlocks = 32, kShared = 164 << 10, kOfSystem = 1 << 10;
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const std::uint64_t warps = divide_up(threads, std::uint64_t{32}),
                      shared = launch.shared_bytes + static_bytes;
  const std::uint64_t by_warps = kWarps / warps, by_shared = kShared / (shared + kOfSystem);
  const std::uint64_t blocks = std::min({by_warps, by_shared, kBlocks});
  Occupancy found{blocks * warps, fmt::format("the {} threads of a block", threads)};
  if (blocks == by_shared && by_shared < std::min(by_warps, kBlocks)) {
    found.limit = fmt::format("the {} bytes of shared memory of a block", grouped(shared));
  }
  return found;
}

// The lowest one of the launches that are shown.
Occupancy lowest_occupancy(const AccessTrace& trace) {
  Occupancy lowest;
  for (const TracedLaunch& launch : trace.launches) {
    std::map<std::uint32_t, std::uint64_t> arrays;  // of shared memory that it uses
    for (const TracedEvent& event : launch.events) {
      if (event.what != TracedEvent::What::request || is_global(event.kind)) continue;
      const TracedArray& array = trace.arrays[event.array];
      if (array.name != "dynamic shared memory") arrays[event.array] = array.bytes;
    }
    std::uint64_t bytes = 0;
    for (const auto& [number, size] : arrays) bytes += size;
    const Occupancy one = occupancy_of(launch, bytes);
    if (one.warps < lowest.warps) lowest = one;
  }
  return lowest;
}

std::string occupancy_finding(const Watched& watched) {
  const Occupancy lowest = lowest_occupancy(watched.trace);
  if (lowest.warps * 2 > 64) return "";
  return fmt::format("Occupancy is low: {} limit an A100 to {} of 64 warps for a multiprocessor. ",
                     lowest.limit, lowest.warps);
}

// What is lost, in cycles of an A100 by a rough model, which page.html tells in words.
std::string costliest(const Totals& sum) {
  const auto beyond = [](const Sum& of) {
    return static_cast<double>(of.transactions - std::min(of.transactions, of.least));
  };
  const std::pair<double, const char*> costs[] = {
      {beyond(sum.global) / 34, "sectors that are moved and not used"},
      {beyond(sum.shared) / 108, "bank conflicts"},
      {idle_share(sum) * static_cast<double>(sum.steps) / 54, "idle lanes"},
      {sum.most_on_an_address > 32 ? static_cast<double>(sum.most_on_an_address) : 0,
       "atomic operations on one address"},
  };
  const auto& most = *std::max_element(std::begin(costs), std::end(costs));
  if (most.first < 1) return "";
  return fmt::format("What costs most of all this, by a rough model of an A100, is {}. ",
                     most.second);
}

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::vector<Figure> counted_figures(const std::vector<KernelCounts>& counts) {
  const Totals sum = totals_of(counts);
  std::vector<Figure> figures;
  const auto add = [&](const char* name, std::string text) {
    figures.push_back({name, std::move(text), "counted here"});
  };
  const auto many = [](std::uint64_t count, const char* one, const char* more) {
    return fmt::format("{} {}", grouped(count), count == 1 ? one : more);
  };
  add("grids", fmt::format("{}, {}, {}", many(sum.launches, "launch", "launches"),
                           many(sum.blocks, "block", "blocks"), many(sum.warps, "warp", "warps")));
  if (sum.global.requests > 0) add("global memory", against_best(sum.global, "sectors"));
  if (sum.shared.requests > 0) add("shared memory", against_best(sum.shared, "passes"));
  add("barriers", sum.blocks == 0
                      ? "none"
                      : fmt::format("{:.3g} per block", static_cast<double>(sum.barriers) /
                                                            static_cast<double>(sum.blocks)));
  add("divergence", fmt::format("lanes part in {} of {} warps", grouped(sum.divergent_warps),
                                grouped(sum.warps)));
  if (sum.steps > 0) {
    add("idle lanes",
        fmt::format("{:.1f} % of the lanes in the steps of all warps", 100 * idle_share(sum)));
  }
  if (sum.atomics > 0) {
    add("atomics", fmt::format("{} operations of single threads, up to {} on one address",
                               grouped(sum.atomics), grouped(sum.most_on_an_address)));
  }
  return figures;
}

std::string finding(const Watched& watched) {
  const Totals sum = totals_of(watched.counts);
  std::string text = global_finding(watched, sum.global) + shared_finding(watched, sum.shared) +
                     idle_finding(watched, sum) + atomic_finding(sum) + occupancy_finding(watched) +
                     costliest(sum);
  if (!text.empty()) text.pop_back();
  return text;
}

std::string difference(const Watched& first, const Watched& second) {
  const Totals a = totals_of(first.counts), b = totals_of(second.counts);
  std::string text;
  const auto compare = [&](std::uint64_t of_a, std::uint64_t of_b, const char* what) {
    if (of_a == of_b) return;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", grouped(of_b), what,
                        fmt::format(" instead of {}", grouped(of_a)));
  };
  compare(a.launches, b.launches, "launches");
  compare(a.global.transactions, b.global.transactions, "sectors of global memory");
  compare(a.shared.requests, b.shared.requests, "requests to shared memory");
  compare(a.shared.transactions, b.shared.transactions, "passes over its banks");
  compare(a.barriers, b.barriers, "barriers of a block");
  compare(a.divergent_warps, b.divergent_warps, "warps whose lanes part");
  compare(a.atomics, b.atomics, "atomic operations");
  if (text.empty()) {
    return fmt::format("{} and {} cost the same memory requests and barriers.", first.title,
                       second.title);
  }
  return fmt::format("Against {}, {} has {}.", first.title, second.title, text);
}

}  // namespace weft::cli
