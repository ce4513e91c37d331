// SPDX-License-Identifier: MIT
#include "bench/by_hand.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

namespace weft::bench {
namespace {

constexpr int kWarp = 32, kBanks = 32;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Loads of 4 bytes from global memory, caches left aside, with what follows from them.
void add_loads(std::vector<Fact>& facts, double loads, double outputs, double flops,
               std::string_view why) {
  facts.push_back(
      {"global loads", loads,
       fmt::format("{:.4g} floats, {:.4g} for each output: {}", loads, loads / outputs, why)});
  const double intensity = flops / (4 * (loads + outputs));
  facts.push_back({"intensity of its accesses", intensity,
                   fmt::format("{:.4g} FLOP for each byte that it loads and stores", intensity)});
}

// A (m, k) is read once for every tile of columns, B (k, n) once for every tile of rows.
double tile_loads(const kernels::GemmDims& d, std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(d.m * d.k) * static_cast<double>(ceil_div(d.n, columns)) +
         static_cast<double>(d.k * d.n) * static_cast<double>(ceil_div(d.m, rows));
}

}  // namespace

std::vector<Fact> gemm_facts(const kernels::GemmDims& d, std::string_view variant) {
  constexpr std::int64_t kStrip = 128, kResults = 4;  // GemmOptions: strip_width, strip_results
  const double outputs = static_cast<double>(d.m * d.n);
  const double products = outputs * static_cast<double>(d.k);
  std::vector<Fact> facts;
  const auto tile = [&](std::int64_t rows, std::int64_t columns) {
    const double loads = tile_loads(d, rows, columns);
    add_loads(facts, loads, outputs, 2 * products,
              fmt::format("tiles of {} x {}; naive does {:.3g} times as many", rows, columns,
                          2 * products / loads));
  };
  if (variant == "naive" || variant == "strip_k1") {
    add_loads(facts, 2 * products, outputs, 2 * products, "one of A and one of B for each product");
  } else if (variant == "strip_k2") {
    tile(1, kStrip);
  } else if (variant == "strip_k3") {
    tile(1, kStrip * kResults);
  } else if (variant == "strip_k4") {
    tile(kResults, kStrip);
  } else if (variant == "strip_k3k4") {
    tile(kResults, kStrip * kResults);
  } else if (variant == "tiled") {
    tile(32, 32);
    const double small = tile_loads(d, 16, 16);
    facts.push_back({"global loads, tile 16", small,
                     fmt::format("{:.4g} floats; naive does {:.3g} times as many", small,
                                 2 * products / small)});
  } else if (variant == "vectorized" || variant == "warp_tiled" || variant == "pipelined" ||
             variant == "operand_reuse") {
    tile(128, 128);
  } else if (variant == "split_k") {
    tile(64, 64);
  }
  return facts;
}

TreeSteps reduction_tree(int threads, std::string_view variant) {
  const bool divergent = variant == "interleaved_divergent", interleaved = variant == "interleaved";
  TreeSteps steps;
  if (!divergent && !interleaved && variant != "sequential" && variant != "first_add") return steps;
  for (int level = 1; level < threads; level *= 2) {
    const int step = divergent || interleaved ? level : threads / (2 * level);
    int diverging = 0;
    std::size_t most = 1;
    for (int warp = 0; warp < threads; warp += kWarp) {
      int working = 0;
      std::array<std::set<int>, kBanks> words;  // of the first operand, by bank
      for (int t = warp; t < std::min(warp + kWarp, threads); ++t) {
        const int place = interleaved ? 2 * step * t : t;
        const bool works = divergent     ? t % (2 * step) == 0
                           : interleaved ? place < threads
                                         : t < step;
        if (!works) continue;
        ++working;
        words[static_cast<std::size_t>(place % kBanks)].insert(place);
      }
      if (working > 0 && working < std::min(kWarp, threads - warp)) ++diverging;
      for (const std::set<int>& bank : words) most = std::max(most, bank.size());
    }
    steps.divergent_warps.push_back(diverging);
    steps.bank_ways.push_back(static_cast<int>(most));
  }
  return steps;
}

std::vector<Fact> reduce_facts(std::int64_t n, int threads, std::string_view variant) {
  std::vector<Fact> facts = {
      {"global loads", static_cast<double>(n), fmt::format("{} floats, one for each element", n)}};
  const TreeSteps steps = reduction_tree(threads, variant);
  if (steps.divergent_warps.empty()) return facts;
  const auto add = [&](const char* name, const std::vector<int>& values, const char* meaning) {
    std::string list;
    int sum = 0;
    for (const int value : values) {
      list += fmt::format("{}{}", list.empty() ? "" : " ", value);
      sum += value;
    }
    facts.push_back(
        {name, static_cast<double>(sum),
         fmt::format("{} {} of a block of {} threads: {} in all", list, meaning, threads, sum)});
  };
  add("divergent warps", steps.divergent_warps, "in the steps");
  const int worst = *std::max_element(steps.bank_ways.begin(), steps.bank_ways.end());
  std::string ways;
  for (const int way : steps.bank_ways) ways += fmt::format("{}{}", ways.empty() ? "" : " ", way);
  facts.push_back({"bank conflicts", static_cast<double>(worst),
                   worst == 1 ? "none" : fmt::format("{}-way in the steps", ways)});
  return facts;
}

std::vector<Fact> scan_facts(std::string_view variant) {
  constexpr int kSection = 1024;  // elements, for comparison
  int additions = 0, steps = 0;
  const bool tree = variant == "brent_kung";
  if (!tree && !variant.starts_with("kogge_stone")) return {};
  for (int step = 1; step < kSection; step *= 2) {
    additions += tree ? kSection / (2 * step) : kSection - step;  // up, for the tree
    ++steps;
  }
  for (int step = kSection / 4; tree && step > 0; step /= 2) {  // down
    additions += kSection / (2 * step) - 1;
    ++steps;
  }
  return {{"additions", static_cast<double>(additions),
           fmt::format("{} in {} steps for a section of {}; one thread alone needs {}", additions,
                       steps, kSection, kSection - 1)}};
}

std::vector<Fact> histogram_facts(std::int64_t n, std::int64_t bins, std::int64_t fullest,
                                  int multiprocessors, std::string_view variant) {
  constexpr std::int64_t kPrivateValues = 1024;  // of a block of `privatized`
  const auto fact = [](std::int64_t count, std::string text) {
    return std::vector<Fact>{{"atomics on one address", static_cast<double>(count), text}};
  };
  if (variant == "global_atomics") {
    return fact(fullest, fmt::format("{} in memory on the fullest of {} bins, one for each of its "
                                     "values; {} on all",
                                     fullest, bins, n));
  }
  if (variant == "privatized") {
    const std::int64_t blocks = ceil_div(n, kPrivateValues), most = std::min(blocks, fullest);
    return fact(most, fmt::format("at most {} in memory: one for each of {} blocks that saw the "
                                  "bin; the others are in shared memory",
                                  most, blocks));
  }
  if (variant == "privatized_coarsened" && multiprocessors > 0) {
    const std::int64_t most = std::min<std::int64_t>(2 * multiprocessors, fullest);
    return fact(most, fmt::format("at most {} in memory: two blocks on each of {} multiprocessors",
                                  most, multiprocessors));
  }
  return {};
}

std::vector<Fact> signal_facts(const kernels::SignalDims& d, std::string_view variant) {
  const double outputs = static_cast<double>(d.elements());
  const double taps = static_cast<double>(d.taps()), flops = 2 * outputs * taps;
  std::vector<Fact> facts;
  if (variant == "naive") {
    add_loads(facts, 2 * taps * outputs, outputs, flops,
              "an element and a tap for each product; borders not counted off");
    return facts;
  }
  if (variant == "constant_memory") {
    add_loads(facts, taps * outputs, outputs, flops, "an element for each product");
    return facts;
  }
  if (!variant.starts_with("tiled")) return facts;
  // Outputs of a block, and elements with their halo.
  const std::int64_t depth = d.rank() == 3 ? 4 : 1;
  const std::int64_t height = d.rank() == 3 ? 8 : d.rank() == 2 ? 32 : 1;
  const std::int64_t width = d.rank() > 1               ? 32
                             : variant == "tiled_input" ? 1025 - d.filter_width
                                                        : 1024;
  const double tile = static_cast<double>(depth * height * width);
  double staged = static_cast<double>(
      (depth + d.filter_depth - 1) * (height + d.filter_height - 1) * (width + d.filter_width - 1));
  if (variant == "tiled_cached_halo") {  // not staged: read from the cache for each tap out there
    const std::int64_t left = d.filter_width / 2, right = d.filter_width - 1 - left;
    staged = tile + static_cast<double>((left * (left + 1) + right * (right + 1)) / 2);
  }
  add_loads(facts, staged / tile * outputs, outputs, flops,
            fmt::format("{:.0f} elements for {:.0f} outputs of a block", staged, tile));
  facts.push_back(
      {"share of the halo", (staged - tile) / staged,
       fmt::format("{:.1f} % of the elements that a block loads", 100 * (staged - tile) / staged)});
  return facts;
}

std::vector<Fact> nbody_facts(std::int64_t n, std::string_view variant) {
  const double pairs = static_cast<double>(n) * static_cast<double>(n), flops = 20 * pairs;
  // Bodies i that one load of a body j from global memory serves.
  const double served =
      variant == "shared_tiles"                                                              ? 256
      : variant == "register_tiled"                                                          ? 1024
      : variant == "naive" || variant == "array_of_structs" || variant == "struct_of_arrays" ? 1
                                                                                             : 0;
  if (served == 0) return {};
  const double bytes = 16 * (pairs / served + 2 * static_cast<double>(n));
  return {{"global loads", 4 * pairs / served,
           fmt::format("{:.4g} floats: each body once for every {:.0f} that it pulls",
                       4 * pairs / served, served)},
          {"intensity of its accesses", flops / bytes,
           fmt::format("{:.4g} FLOP for each byte that it loads and stores", flops / bytes)}};
}

}  // namespace weft::bench
