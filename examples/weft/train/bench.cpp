// SPDX-License-Identifier: MIT
// weft bench train: hands over to bench/train.py, which starts this program for every run, because
// what a user waits for includes its start.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>

#include "engine/error.h"
#include "examples/weft/kernel/kernel.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

struct BenchTrainFlags {
  std::optional<std::string> models, json;
  std::optional<std::int64_t> seeds;  // none: as many as the pages want
  bool no_yardsticks = false;
  DeviceFlags device;
};

int run(const BenchTrainFlags& flags) {
  if (flags.json) require_folder_of("--json", *flags.json);
  const Device device = select_device(flags.device);
  announce_device(flags.device, device);
  const fs::path program = this_program();
  std::vector<std::string> words = {"python3",  bench_script("train.py").string(),
                                    "--weft",   program.string(),
                                    "--device", device.is_cuda() ? "cuda" : "cpu"};
  const auto add = [&](const char* flag, const auto& value) {
    if (value) words.insert(words.end(), {flag, fmt::format("{}", *value)});
  };
  add("--threads", flags.device.threads);
  add("--models", flags.models);
  add("--seeds", flags.seeds);
  add("--out", flags.json);
  if (flags.no_yardsticks) words.emplace_back("--no-yardsticks");
  become("python3", words);
  throw Error(ErrorKind::usage, fmt::format("bench train runs in Python: cannot start python3: {}",
                                            std::strerror(errno)));
}

}  // namespace

fs::path bench_script(const std::string& name) {
  const fs::path folder = this_program().parent_path();
  for (const fs::path& place :
       {folder / "../share/weft/bench", folder / "../bench", folder / "../../bench"}) {
    std::error_code ignored;
    if (fs::exists(place / name, ignored)) return (place / name).lexically_normal();
  }
  throw Error(ErrorKind::usage,
              fmt::format("this benchmark needs {} in share/weft/bench beside {}, or in bench of "
                          "the tree it was built in",
                          name, folder.string()));
}

void add_bench_train(CLI::App& bench, Action& action) {
  CLI::App* sub = bench.add_subcommand(
      "train", "Train every network for several seeds: accuracy, epochs and time, beside PyTorch");
  auto flags = std::make_shared<BenchTrainFlags>();
  sub->add_option("--models", flags->models, "networks or recipes, comma-separated; default all")
      ->type_name("LIST");
  add_whole(
      *sub, "--seeds", flags->seeds, 1, 1000,
      "at most, of each network; default: 100 of the recipe fast, 30 of what takes up to three "
      "seconds, else 10");
  sub->add_option("--json", flags->json, "write every measurement")->type_name("FILE");
  sub->add_flag("--no-yardsticks", flags->no_yardsticks, "leave PyTorch out");
  add_device_flags(*sub, flags->device, false, false);
  sub->callback([=, &action] { action.run = [=] { return run(*flags); }; });
}

}  // namespace weft::cli
