// SPDX-License-Identifier: MIT
// weft bench scaling: hands over to bench/scaling.py, which starts this program on more and more
// devices.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstring>

#include "engine/error.h"
#include "examples/weft/kernel/kernel.h"

namespace weft::cli {
namespace {

struct ScalingFlags {
  DeviceFlags device;
  std::int64_t devices = 2, bodies = 1 << 20, epochs = 12;
  std::string json, reduction = "automatic";
  bool no_yardsticks = false;
};

int run_scaling(const ScalingFlags& flags) {
  if (!flags.json.empty()) require_folder_of("--json", flags.json);
  const Device device = select_device(flags.device);
  announce_device(flags.device, device);
  const auto program = this_program();
  std::vector<std::string> words = {"python3",     bench_script("scaling.py").string(),
                                    "--weft",      program.string(),
                                    "--device",    device.is_cuda() ? "cuda" : "cpu",
                                    "--devices",   std::to_string(flags.devices),
                                    "--bodies",    std::to_string(flags.bodies),
                                    "--epochs",    std::to_string(flags.epochs),
                                    "--reduction", flags.reduction};
  if (!flags.json.empty()) words.insert(words.end(), {"--out", flags.json});
  if (flags.no_yardsticks) words.emplace_back("--no-yardsticks");
  become("python3", words);
  throw Error(
      ErrorKind::usage,
      fmt::format("bench scaling runs in Python: cannot start python3: {}", std::strerror(errno)));
}

}  // namespace

void add_bench_scaling(CLI::App& bench, Action& action) {
  CLI::App* sub = bench.add_subcommand(
      "scaling", "Strong and weak scaling of training and n-body over devices, beside PyTorch");
  auto flags = std::make_shared<ScalingFlags>();
  add_whole(*sub, "--devices", flags->devices, 1, 1024, "at most")->capture_default_str();
  add_whole(*sub, "--epochs", flags->epochs, 1, 10000, "of each run")->capture_default_str();
  add_whole(*sub, "--bodies", flags->bodies, 0, 1 << 24, "of n-body; 0: leave it out")
      ->capture_default_str();
  add_choice(*sub, "--reduction", flags->reduction,
             {"automatic", "one-shot", "nccl", "host-staged"}, "how GPUs add up what they have");
  sub->add_option("--json", flags->json, "write every measurement")->type_name("FILE");
  sub->add_flag("--no-yardsticks", flags->no_yardsticks, "leave PyTorch out");
  add_device_flags(*sub, flags->device, false, false);
  sub->callback([=, &action] { action.run = [=] { return run_scaling(*flags); }; });
}

}  // namespace weft::cli
