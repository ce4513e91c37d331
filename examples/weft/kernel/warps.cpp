// SPDX-License-Identifier: MIT
// weft kernel warps: how many warps a grid has and how many of them diverge, for the questions that
// courses ask. Threads are counted one by one; nothing runs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "examples/weft/kernel/lesson.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "measure/by_hand.h"

namespace weft::cli {
namespace {

constexpr Named<measure::Branch> kBranches[] = {{"none", measure::Branch::none},
                                                {"row>col", measure::Branch::row_col},
                                                {"odd", measure::Branch::odd},
                                                {"inner", measure::Branch::inner}};

struct WarpsRequest {
  std::vector<std::int64_t> size, block;
  std::string branch = "none";
  bool json = false;
};

int tell_warps(const WarpsRequest& asked) {
  const measure::DivergentWarps found = measure::divergent_warps(
      asked.size, asked.block, row_named(kBranches, "branch", asked.branch).value);
  if (asked.json) {
    print_event("warps", {{"size", asked.size},
                          {"block", asked.block},
                          {"branch", asked.branch},
                          {"blocks", found.blocks},
                          {"warps", found.warps},
                          {"idle", found.idle},
                          {"divergent_at_bounds", found.at_bounds},
                          {"divergent_at_branch", found.at_branch},
                          {"divergent", found.divergent}});
    return 0;
  }
  Pairs pairs = {
      {"array", fmt::format("{}", fmt::join(asked.size, " x "))},
      {"grid", fmt::format("{} of {} threads, {}", counted(found.blocks, "block"),
                           fmt::join(asked.block, " x "), counted(found.warps, "warp"))},
      {"beyond the array",
       fmt::format("{} whose lanes are all out of bounds", counted(found.idle, "warp"))},
      {"at the bounds check", fmt::format("{} diverge", counted(found.at_bounds, "warp"))}};
  if (asked.branch != "none") {
    pairs.emplace_back(asked.branch, fmt::format("{} diverge among the lanes within bounds",
                                                 counted(found.at_branch, "warp")));
  }
  pairs.emplace_back(
      "in all",
      fmt::format("{} of {} warps diverge, {:.1f} %", found.divergent, found.warps,
                  100 * static_cast<double>(found.divergent) / static_cast<double>(found.warps)));
  write_out(format_pairs(pairs, detect_terminal(kStdout)));
  return 0;
}

}  // namespace

void add_warps(CLI::App& kernel, Action& action) {
  CLI::App* sub =
      kernel.add_subcommand("warps", "How many warps a grid has, and how many of them diverge");
  auto asked = std::make_shared<WarpsRequest>();
  add_extents(*sub, "--size", asked->size, std::int64_t{1} << 28,
              "of the array; the last extent is contiguous: ROWSxCOLUMNS")
      ->required();
  add_extents(*sub, "--block", asked->block, 1024, "threads of a block, in the same order")
      ->required();
  add_choice(*sub, "--branch", asked->branch, names_of(kBranches),
             "within bounds: a condition on the index, or threads at the edge of a block idle")
      ->capture_default_str();
  sub->add_flag("--json", asked->json, "one JSON object instead of text");
  sub->callback([=, &action] { action.run = [=] { return tell_warps(*asked); }; });
}

}  // namespace weft::cli
