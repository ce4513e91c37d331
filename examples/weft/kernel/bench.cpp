// SPDX-License-Identifier: MIT
// weft bench: hands over to weft-bench, which also measures the vendors' libraries, when that is
// installed beside this program; measures without them otherwise.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/error.h"
#include "examples/weft/kernel/kernel.h"
#include "examples/weft/output/terminal.h"
#include "measure/command.h"

namespace weft::cli {
namespace {

// Returns only when weft-bench is not there or cannot be started.
void hand_over(const measure::BenchRequest& request) {
  const std::string program = (this_program().parent_path() / "weft-bench").string();
  if (access(program.c_str(), X_OK) != 0) return;
  std::vector<std::string> words = measure::to_arguments(request);
  words.insert(words.begin(), program);
  become(program, words);
  print_notice(fmt::format("cannot start {}: {}", program, std::strerror(errno)));
}

int run(measure::BenchRequest request, const DeviceFlags& flags) {
  if (request.families.empty()) {
    throw Error(ErrorKind::usage,
                "weft bench needs a FAMILY, all, or train; see weft bench --help");
  }
  std::vector<std::string> known = {"all", std::string(measure::kErrors)};
  for (const measure::FamilyBench* family : measure::family_benches()) {
    known.emplace_back(family->family);
    if (family->more != nullptr)
      known.push_back(fmt::format("{}:{}", family->family, family->more_name));
  }
  for (const std::string& word : request.families) {
    const std::string name = word.substr(0, word.find('/'));
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw_unknown("benchmark", name, known);
    }
    if (name.size() < word.size())
      parse_kernel_name(name.substr(0, name.find(':')) + word.substr(name.size()));
  }
  const bool errors = request.families[0] == measure::kErrors;
  if (errors && (request.families.size() > 1 || !request.report.empty())) {
    throw Error(ErrorKind::usage, "bench errors stands alone, and makes no --report");
  }
  if (flags.device == "host-cuda" && !errors) {
    throw Error(ErrorKind::usage,
                fmt::format("host-cuda checks kernels, and its times say nothing; {} kernel run "
                            "FAMILY --device host-cuda checks a family",
                            program_name()));
  }
  if (!request.json.empty()) require_folder_of("--json", request.json);
  if (!request.report.empty()) require_folder_of("--report", request.report);
  request.device = select_device(flags);
  request.threads = flags.threads.value_or(0);
  announce_device(flags, request.device);
  const bool yardsticks = request.device.is_cuda() || std::getenv("WEFT_YARDSTICKS") != nullptr;
  if (yardsticks && !built_for_host_cuda()) {
    hand_over(request);
    print_notice("measuring without yardsticks: weft-bench is not installed beside weft");
  }
  return measure::run_bench(request, {});
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* sub =
      app.add_subcommand("bench", "Measure kernels and training against the vendor's libraries");
  auto request = std::make_shared<measure::BenchRequest>();
  auto flags = std::make_shared<DeviceFlags>();
  sub->add_option(
         "FAMILY", request->families,
         "families of weft kernel list, FAMILY/RUNG, gemm:layers, all, or errors: how accurate "
         "fp32 is")
      ->type_name("")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--json", request->json, "write every measurement, one JSON object per line")
      ->type_name("FILE");
  sub->add_option("--report", request->report, "write a page with charts and tables")
      ->type_name("FILE.html");
  add_real(*sub, "--seconds", request->seconds, 0.001, 60, "at least, for each measurement")
      ->capture_default_str();
  add_whole(*sub, "--seed", request->seed, 0, INT64_MAX, "of the random data")
      ->capture_default_str();
  add_device_flags(*sub, *flags, false, false);
  add_bench_train(*sub, action);
  add_bench_scaling(*sub, action);
  add_bench_links(*sub, action);
  sub->callback([=, &action] {
    if (!sub->get_subcommands().empty()) return;
    action.run = [=] { return run(*request, *flags); };
  });
}

}  // namespace weft::cli
