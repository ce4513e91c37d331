// SPDX-License-Identifier: MIT
#include "measure/by_hand.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/extent.h"

namespace weft::measure {

void add_loads(std::vector<Fact>& facts, double loads, double outputs, double flops,
               std::string_view why) {
  facts.push_back(
      {"global loads", loads,
       fmt::format("{:.4g} floats, {:.4g} for each output: {}", loads, loads / outputs, why)});
  const double intensity = flops / (4 * (loads + outputs));
  facts.push_back({"intensity of its accesses", intensity,
                   fmt::format("{:.4g} FLOP for each byte that it loads and stores", intensity)});
}

namespace {

constexpr int kWarp = 32, kBanks = 32;

// A (m, k) is read once for every tile of columns, B (k, n) once for every tile of rows.
double tile_loads(const kernels::GemmDims& d, std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(d.m * d.k) * static_cast<double>(divide_up(d.n, columns)) +
         static_cast<double>(d.k * d.n) * static_cast<double>(divide_up(d.m, rows));
}

}  // namespace

std::vector<Fact> gemm_facts(const kernels::GemmDims& d, std::string_view variant,
                             const GemmTiles& tiles) {
  const double outputs = static_cast<double>(d.m * d.n);
  const double products = outputs * static_cast<double>(d.k);
  std::vector<Fact> facts;
  const auto tile = [&](std::int64_t rows, std::int64_t columns) {
    const double loads = tile_loads(d, rows, columns);
    add_loads(facts, loads, outputs, 2 * products,
              fmt::format("tiles of {} x {}; naive does {:.3g} times as many", rows, columns,
                          2 * products / loads));
  };
  if (variant == "uncoalesced" || variant == "naive" || variant == "strip_k1") {
    add_loads(facts, 2 * products, outputs, 2 * products, "one of A and one of B for each product");
  } else if (variant == "strip_k2") {
    tile(1, tiles.strip_width);
  } else if (variant == "strip_k3") {
    tile(1, tiles.strip_width * tiles.strip_results);
  } else if (variant == "strip_k4") {
    tile(tiles.strip_results, tiles.strip_width);
  } else if (variant == "strip_k3k4") {
    tile(tiles.strip_results, tiles.strip_width * tiles.strip_results);
  } else if (variant == "tiled_16") {
    tile(16, 16);
  } else if (variant == "tiled_32") {
    tile(32, 32);
  } else if (variant == "tiled") {
    const std::int64_t side = tiles.side > 0 ? tiles.side : 32;
    tile(side, side);
    if (tiles.side == 0) {
      const double small = tile_loads(d, 16, 16);
      facts.push_back({"global loads, tile 16", small,
                       fmt::format("{:.4g} floats; naive does {:.3g} times as many", small,
                                   2 * products / small)});
    }
    const double all = 2.0 * static_cast<double>(round_up(d.m, side)) *
                       static_cast<double>(round_up(d.n, side)) *
                       static_cast<double>(round_up(d.k, side));
    facts.push_back({"FLOP of whole tiles", all,
                     fmt::format("{:.0f}: what lies beyond the edges is computed too; {:.0f} "
                                 "would do",
                                 all, 2 * products)});
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

std::vector<Fact> scan_facts(std::string_view variant, std::int64_t section) {
  std::int64_t additions = 0, steps = 0;
  const bool tree = variant == "brent_kung";
  if (!tree && !variant.starts_with("kogge_stone")) return {};
  std::int64_t step = 1;
  for (; step < section; step *= 2) {
    additions += tree ? section / (2 * step) : section - step;  // up, for the tree
    ++steps;
  }
  for (step /= 2; tree && step > 0; step /= 2) {  // down
    const std::int64_t down = (section - step) / (2 * step);
    additions += down;
    steps += down > 0 ? 1 : 0;
  }
  return {{"additions", static_cast<double>(additions),
           fmt::format("{} in {} steps for a section of {}; one thread alone needs {}", additions,
                       steps, section, section - 1)}};
}

std::vector<Fact> histogram_facts(std::int64_t n, std::int64_t bins, std::int64_t fullest,
                                  int multiprocessors, std::string_view variant) {
  constexpr std::int64_t kPrivateValues = 1024;  // of a block of `privatized`
  const auto fact = [](std::int64_t count, std::string text) {
    return std::vector<Fact>{{"atomics on one address", static_cast<double>(count), text}};
  };
  if (variant == "compare_and_swap") {
    return fact(fullest, fmt::format("{} that succeed in memory on the fullest of {} bins, one for "
                                     "each of its values, and those that try again; {} on all",
                                     fullest, bins, n));
  }
  if (variant == "global_atomics") {
    return fact(fullest, fmt::format("{} in memory on the fullest of {} bins, one for each of its "
                                     "values; {} on all",
                                     fullest, bins, n));
  }
  if (variant == "privatized") {
    const std::int64_t blocks = divide_up(n, kPrivateValues), most = std::min(blocks, fullest);
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

std::vector<Fact> divergence_facts(std::int64_t n, int rounds, std::string_view variant) {
  const std::int64_t warps = divide_up(n, std::int64_t{kWarp});
  // A warp that diverges multiplies once for its squares and twice for its cubes. One thread alone
  // agrees with itself.
  const bool diverges = variant == "branch_by_thread";
  const double each = diverges ? 3 : variant == "predicated" ? 2 : 1.5;
  const std::int64_t diverging = diverges ? warps - (n % kWarp == 1 ? 1 : 0) : 0;
  return {{"multiplications of a warp", each * rounds,
           fmt::format("{:g} in each of {} rounds{}", each, rounds,
                       each == 1.5 ? ": 1 in one half of the warps, 2 in the other" : "")},
          {"divergent warps", static_cast<double>(diverging),
           fmt::format("{} of {}", diverging, warps)}};
}

}  // namespace weft::measure
