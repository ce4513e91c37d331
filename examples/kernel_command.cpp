// SPDX-License-Identifier: MIT
// weft kernel list|show|run: the flags, the names and the list.
#include "examples/kernel_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "engine/error.h"
#include "examples/json_lines.h"
#include "examples/tables.h"

namespace weft::cli {
namespace {

std::string runs_on(const kernels::VariantInfo& info) {
  if (!info.on_cuda) return "CPU";
  const std::string gpu =
      info.compute_capability > 0 ? fmt::format("sm_{}", info.compute_capability) : "GPU";
  return info.on_cpu ? "CPU, " + gpu : gpu;
}

int list_kernels(bool json) {
  if (json) {
    for (const kernels::Family& family : kernels::catalogue()) {
      for (const kernels::VariantInfo& info : family.variants()) {
        nlohmann::ordered_json event = json_event("kernel");
        event["family"] = family.name;
        event["variant"] = info.name;
        event["name"] = fmt::format("{}/{}", family.name, info.name);
        event["summary"] = info.summary;
        event["on_cpu"] = info.on_cpu;
        event["on_cuda"] = info.on_cuda;
        event["compute_capability"] = info.compute_capability;
        event["needs"] = info.needs;
        write_out(json_line(event));
      }
    }
    return 0;
  }
  const Terminal terminal = detect_terminal(kStdout);
  std::string text;
  for (const kernels::Family& family : kernels::catalogue()) {
    text += fmt::format("{}  {}\n", paint(terminal, "1", family.name), family.summary);
    for (const kernels::VariantInfo& info : family.variants()) {
      text += fmt::format("  {:<28} {}\n", info.name, paint(terminal, "2", runs_on(info)));
    }
  }
  write_out(text + fmt::format("\n{} kernel show FAMILY/VARIANT says what a variant does.\n",
                               program_name()));
  return 0;
}

// "512", or "256x512x784": a number, or several.
std::vector<std::int64_t> parse_size(const std::string& text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::vector<std::int64_t> size;
  for (const char *at = text.c_str(), *end = at + text.size();; ++at) {
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 1 || extent > kMost || (next != end && *next != 'x')) {
      throw CLI::ValidationError(
          "--size", fmt::format("expected whole numbers from 1 to {}, one or several joined by x, "
                                "found '{}'",
                                kMost, text));
    }
    size.push_back(extent);
    if (next == end) return size;
    at = next;
  }
}

void add_problem_flags(CLI::App& sub, KernelRun& run) {
  sub.add_option_function<std::string>(
         "--size", [&run](const std::string& text) { run.size = parse_size(text); },
         "size of the problem; show FAMILY says what it counts")
      ->type_name("N[xN...]");
  add_whole(sub, "--block", run.block, 1, 1024, "threads per block, where the family takes it");
  add_whole(sub, "--seed", run.seed, 0, INT64_MAX, "of the random data")->capture_default_str();
}

}  // namespace

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const kernels::Family& family : kernels::catalogue()) names.emplace_back(family.name);
  return names;
}

KernelName parse_kernel_name(const std::string& name) {
  const std::size_t slash = name.find('/');
  const std::string family = name.substr(0, slash);
  KernelName found;
  found.family = kernels::find_family(family);
  if (found.family == nullptr) throw_unknown("kernel family", family, family_names());
  if (slash == std::string::npos) return found;
  const std::string variant = name.substr(slash + 1);
  found.variant = kernels::find_variant(*found.family, variant);
  if (found.variant == nullptr) {
    std::vector<std::string> known;
    for (const kernels::VariantInfo& info : found.family->variants()) known.emplace_back(info.name);
    throw_unknown(fmt::format("variant of {}", family), variant, known);
  }
  return found;
}

void add_kernel(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("kernel", "List, explain and run single kernels");
  sub->require_subcommand(1);

  CLI::App* list = sub->add_subcommand("list", "Every family and its variants");
  auto list_json = std::make_shared<bool>(false);
  list->add_flag("--json", *list_json, "one JSON object per variant");
  list->callback([=, &action] { action = [=] { return list_kernels(*list_json); }; });

  CLI::App* show =
      sub->add_subcommand("show", "What a variant does, what it uses, and how fast it is here");
  auto shown = std::make_shared<KernelRun>();
  show->add_option("NAME", shown->name, "FAMILY or FAMILY/VARIANT")->required();
  add_problem_flags(*show, *shown);
  show->add_flag("--json", shown->json, "one JSON object instead of text");
  show->add_flag("--counts", shown->counts,
                 "memory transactions, bank conflicts, active lanes and atomics, counted on "
                 "host-cuda");
  add_device_flags(*show, shown->device, false);
  show->callback([=, &action] { action = [=] { return show_kernel(*shown); }; });

  CLI::App* run =
      sub->add_subcommand("run", "Runs one variant, or all of a family, on random data");
  auto request = std::make_shared<KernelRun>();
  run->add_option("NAME", request->name, "FAMILY or FAMILY/VARIANT")->required();
  add_problem_flags(*run, *request);
  add_whole(*run, "--iterations", request->iterations, 1, 1000000,
            "samples; default: 0.2 s of them");
  run->add_flag("--check", request->check,
                "exit 1 unless the result agrees with the double oracle");
  run->add_flag("--json", request->json, "one JSON object per variant");
  add_device_flags(*run, request->device, false);
  run->callback([=, &action] { action = [=] { return run_kernel(*request); }; });
}

}  // namespace weft::cli
