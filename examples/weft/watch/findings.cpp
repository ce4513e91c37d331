// SPDX-License-Identifier: MIT
// What the counts of a run say, in figures and sentences.
#include <fmt/format.h>

#include <algorithm>
#include <map>

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
};

Totals totals_of(const std::vector<KernelCounts>& counts) {
  Totals sum;
  for (const KernelCounts& kernel : counts) {
    sum.launches += kernel.launches;
    sum.blocks += kernel.blocks;
    sum.barriers += kernel.barriers;
    sum.warps += kernel.warps;
    sum.divergent_warps += kernel.divergent_warps;
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
  if (sum.atomics > 0) {
    add("atomics", fmt::format("{} operations of single threads, up to {} on one address",
                               grouped(sum.atomics), grouped(sum.most_on_an_address)));
  }
  return figures;
}

std::string finding(const Watched& watched) {
  const Totals sum = totals_of(watched.counts);
  std::string text = global_finding(watched, sum.global) + shared_finding(watched, sum.shared);
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
