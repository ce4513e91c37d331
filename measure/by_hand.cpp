// SPDX-License-Identifier: MIT
#include "measure/by_hand.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/extent.h"
#include "kernels/divergence/divergence.h"
#include "kernels/histogram/histogram.h"
#include "kernels/nbody/nbody.h"
#include "kernels/reduce/reduce.h"
#include "kernels/scan/scan.h"

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
  const kernels::GemmTraits traits = kernels::gemm_traits(variant);
  if (traits.tile == nullptr) return {};
  const double outputs = static_cast<double>(d.m * d.n);
  const double products = outputs * static_cast<double>(d.k);
  std::vector<Fact> facts;
  const bool asked = traits.any_side && tiles.side > 0;
  const kernels::GemmTile tile =
      asked ? kernels::GemmTile{tiles.side, tiles.side}
            : traits.tile({.strip_width = static_cast<int>(tiles.strip_width),
                           .strip_results = static_cast<int>(tiles.strip_results)});
  const double loads = tile_loads(d, tile.rows, tile.columns);
  add_loads(facts, loads, outputs, 2 * products,
            tile.rows * tile.columns == 1
                ? "one of A and one of B for each product"
                : fmt::format("tiles of {} x {}; naive does {:.3g} times as many", tile.rows,
                              tile.columns, 2 * products / loads));
  if (!traits.any_side) return facts;
  if (!asked) {
    const double small = tile_loads(d, 16, 16);
    facts.push_back({"global loads, tile 16", small,
                     fmt::format("{:.4g} floats; naive does {:.3g} times as many", small,
                                 2 * products / small)});
  }
  const double all = 2.0 * static_cast<double>(round_up(d.m, tile.rows)) *
                     static_cast<double>(round_up(d.n, tile.columns)) *
                     static_cast<double>(round_up(d.k, tile.rows));
  facts.push_back({"FLOP of whole tiles", all,
                   fmt::format("{:.0f}: what lies beyond the edges is computed too; {:.0f} "
                               "would do",
                               all, 2 * products)});
  return facts;
}

TreeSteps reduction_tree(int threads, std::string_view variant) {
  using kernels::ReduceTree;
  const ReduceTree tree = kernels::reduce_tree(variant);
  const bool divergent = tree == ReduceTree::spread, interleaved = tree == ReduceTree::gathered;
  TreeSteps steps;
  if (tree == ReduceTree::none) return steps;
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
  const kernels::ScanSteps how = kernels::scan_steps(variant);
  if (how == kernels::ScanSteps::none) return {};
  const bool tree = how == kernels::ScanSteps::up_and_down;
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
  using kernels::HistogramAdds;
  const auto fact = [](std::int64_t count, std::string text) {
    return std::vector<Fact>{{"atomics on one address", static_cast<double>(count), text}};
  };
  switch (kernels::histogram_adds(variant)) {
    case HistogramAdds::values_again:
      return fact(fullest, fmt::format("{} that succeed in memory on the fullest of {} bins, one "
                                       "for each of its values, and those that try again; {} on "
                                       "all",
                                       fullest, bins, n));
    case HistogramAdds::values:
      return fact(fullest, fmt::format("{} in memory on the fullest of {} bins, one for each of "
                                       "its values; {} on all",
                                       fullest, bins, n));
    case HistogramAdds::blocks: {
      const std::int64_t blocks = divide_up(n, kernels::kHistogramBlockValues);
      const std::int64_t most = std::min(blocks, fullest);
      return fact(most, fmt::format("at most {} in memory: one for each of {} blocks that saw the "
                                    "bin; the others are in shared memory",
                                    most, blocks));
    }
    case HistogramAdds::resident: {
      if (multiprocessors == 0) return {};
      const std::int64_t most = std::min<std::int64_t>(2 * multiprocessors, fullest);
      return fact(most, fmt::format("at most {} in memory: two blocks on each of {} "
                                    "multiprocessors",
                                    most, multiprocessors));
    }
    default:
      return {};
  }
}

std::vector<Fact> nbody_facts(std::int64_t n, std::string_view variant) {
  const double pairs = static_cast<double>(n) * static_cast<double>(n), flops = 20 * pairs;
  const double served = kernels::nbody_bodies_of_load(variant);
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
  const auto [each, diverges] = kernels::divergence_traits(variant);
  const std::int64_t diverging = diverges ? warps - (n % kWarp == 1 ? 1 : 0) : 0;
  return {{"multiplications of a warp", each * rounds,
           fmt::format("{:g} in each of {} rounds{}", each, rounds,
                       each == 1.5 ? ": 1 in one half of the warps, 2 in the other" : "")},
          {"divergent warps", static_cast<double>(diverging),
           fmt::format("{} of {}", diverging, warps)}};
}

}  // namespace weft::measure
