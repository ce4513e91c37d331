// SPDX-License-Identifier: MIT
// weft kernel list|show|run|watch|occupancy|warps: the flags, the names and the list.
#include "examples/weft/kernel/kernel.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "engine/error.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"

namespace weft::cli {
namespace {

std::string runs_on(const kernels::Rung& info) {
  if (!info.on_cuda) return "CPU";
  const std::string gpu =
      info.compute_capability > 0 ? fmt::format("sm_{}", info.compute_capability) : "GPU";
  return info.on_cpu ? "CPU, " + gpu : gpu;
}

// The name, and beside it the sentence of the rung with what it runs on.
std::string rung_lines(const kernels::Rung& info, const Terminal& terminal) {
  constexpr int kColumn = 24;
  const int room = kColumn - 4;  // two spaces before the name, two behind it
  const bool beside = display_width(info.name) <= room;
  return "  " +
         (beside ? fmt::format("{:<{}}", info.name, room + 2)
                 : fmt::format("{}\n{:{}}", info.name, "", kColumn)) +
         wrapped(fmt::format("{} ({})", info.summary, runs_on(info)), terminal.width, kColumn) +
         "\n";
}

int list_kernels(bool json) {
  if (json) {
    for (const kernels::Family& family : kernels::catalogue()) {
      for (const kernels::Rung& info : family.rungs()) {
        print_event("kernel", {{"family", family.name},
                               {"variant", info.name},
                               {"name", fmt::format("{}/{}", family.name, info.name)},
                               {"operation", info.operation},
                               {"summary", info.summary},
                               {"on_cpu", info.on_cpu},
                               {"on_cuda", info.on_cuda},
                               {"compute_capability", info.compute_capability},
                               {"needs", info.needs}});
      }
    }
    return 0;
  }
  const Terminal terminal = detect_terminal(kStdout);
  std::string text;
  for (const kernels::Family& family : kernels::catalogue()) {
    text += fmt::format(
        "{}{}\n", text.empty() ? "" : "\n",
        wrapped(fmt::format("{}: {}", paint(terminal, "1", family.name), family.summary),
                terminal.width, 2));
    for (const kernels::Rung& info : family.rungs()) {
      text += rung_lines(info, terminal);
    }
  }
  write_out(text + fmt::format("\nWhat a variant does:\n  {} kernel show FAMILY/VARIANT\n",
                               program_name()));
  return 0;
}

void add_problem_flags(CLI::App& sub, KernelRun& run) {
  add_extents(sub, "--size", run.size, std::int64_t{1} << 40,
              "size of the problem; show FAMILY says what it counts");
  add_whole(sub, "--block", run.block, 1, 1024, "threads per block, where the family takes it");
  add_whole(sub, "--seed", run.seed, 0, INT64_MAX, "of the random data")->capture_default_str();
  measure::Parameters& parameters = run.parameters;
  add_whole(sub, "--offset", parameters.offset, 0, 1 << 20, "words before the first one (memory)");
  add_whole(sub, "--stride", parameters.stride, 1, 1 << 20, "words between lanes (memory)");
  add_extents(sub, "--mask", parameters.mask, 1 << 14,
              "taps of the filter: 9, 5x5, 3x3x3 (signal)");
  add_whole(sub, "--results", parameters.results, 1, 64, "of a thread: 2 or 4 (gemm/strip_k3...)");
  add_choice(sub, "--transpose", parameters.transpose, {"a", "b", "ab"},
             "operands that are stored transposed (gemm)");
}

}  // namespace

KernelName parse_kernel_name(const std::string& name) {
  const std::size_t slash = name.find('/');
  const std::string family = name.substr(0, slash);
  KernelName found;
  found.family = kernels::find_family(family);
  if (found.family == nullptr)
    throw_unknown("kernel family", family, names_of(kernels::catalogue()));
  if (slash == std::string::npos) return found;
  const std::string variant = name.substr(slash + 1);
  found.variant = found.family->rungs().find(variant);
  if (found.variant == nullptr) {
    throw_unknown(fmt::format("variant of {}", family), variant, names_of(found.family->rungs()));
  }
  return found;
}

void add_kernel(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("kernel", "List, explain and run single kernels");
  sub->require_subcommand(1);

  CLI::App* list = sub->add_subcommand("list", "Every family and its variants");
  auto list_json = std::make_shared<bool>(false);
  list->add_flag("--json", *list_json, "one JSON object per variant");
  list->callback([=, &action] { action.run = [=] { return list_kernels(*list_json); }; });

  CLI::App* show =
      sub->add_subcommand("show", "What a variant does, what it uses, and how fast it is here");
  auto shown = std::make_shared<KernelRun>();
  show->add_option("NAME", shown->name, "FAMILY or FAMILY/VARIANT")->type_name("")->required();
  add_problem_flags(*show, *shown);
  show->add_flag("--json", shown->json, "one JSON object instead of text");
  show->add_flag("--counts", shown->counts,
                 "memory transactions, bank conflicts, active lanes, atomics and divergent "
                 "branches, counted on host-cuda");
  add_extents(*show, "--tile", shown->parameters.tile, 1 << 16,
              "side of a block's tile, or its section, for the arithmetic alone (gemm/tiled, "
              "signal/tiled..., scan)");
  show->add_option("--gpu", shown->gpu, "answers for another GPU, with " + gpu_help())
      ->type_name("NAME");
  add_device_flags(*show, shown->device, false);
  show->callback([=, &action] { action = {[=] { return show_kernel(*shown); }, shown->counts}; });

  CLI::App* run =
      sub->add_subcommand("run", "Runs one variant, or all of a family, on random data");
  auto request = std::make_shared<KernelRun>();
  run->add_option("NAME", request->name, "FAMILY or FAMILY/VARIANT")->type_name("")->required();
  add_problem_flags(*run, *request);
  add_whole(*run, "--iterations", request->iterations, 1, 1000000,
            "samples; default: 0.2 s of them");
  run->add_flag("--check", request->check,
                "exit 1 unless the result agrees with the double oracle");
  run->add_flag("--json", request->json, "one JSON object per variant");
  add_device_flags(*run, request->device, false);
  run->callback([=, &action] { action.run = [=] { return run_kernel(*request); }; });

  CLI::App* watch = sub->add_subcommand(
      "watch", "Makes a page on which a variant runs step by step, warp by warp");
  auto watched = std::make_shared<WatchRun>();
  watch->add_option("NAME", watched->problem.name, "FAMILY/VARIANT")->type_name("")->required();
  watch->add_option("OTHER", watched->other, "another FAMILY/VARIANT, side by side with it")
      ->type_name("");
  watch->add_option("--out", watched->out, "the page to write")->required()->type_name("FILE.html");
  add_problem_flags(*watch, watched->problem);
  add_whole(*watch, "--first-block", watched->first_block, 0, INT64_MAX, "the first one shown")
      ->capture_default_str();
  add_whole(*watch, "--blocks", watched->blocks, 1, 64, "blocks of each launch that are shown")
      ->capture_default_str();
  watch->callback([=, &action] { action = {[=] { return watch_kernel(*watched); }, true}; });
  add_occupancy(*sub, action);
  add_warps(*sub, action);
}

}  // namespace weft::cli
