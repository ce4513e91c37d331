// SPDX-License-Identifier: MIT
#include "examples/flags.h"

#include <fmt/core.h>
#include <omp.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "engine/error.h"
#include "examples/terminal.h"

namespace weft::cli {
namespace {

template <class Number>
CLI::Validator in_range(Number low, Number high, const char* kind) {
  const auto check = [=](std::string& text) -> std::string {
    Number value{};
    const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error == std::errc{} && stop == end && value >= low && value <= high) return "";
    return fmt::format("expected a {} from {} to {}, found '{}'", kind, low, high, text);
  };
  return CLI::Validator(check, "");
}

// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::string joined(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

const CLI::App* deepest(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string full_name(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return parent == nullptr ? "weft" : full_name(parent) + " " + app->get_name();
}

std::vector<std::string> long_names(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> subcommand_names(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  return names;
}

std::string did_you_mean(const std::string& guess, const std::string& otherwise) {
  return guess.empty() ? otherwise : fmt::format("; did you mean '{}'?", guess);
}

}  // namespace

std::string program_name() {
  const char* name = std::getenv("WEFT_PROGRAM");
  return name == nullptr || *name == '\0' ? "weft" : shell_quoted(name);
}

CLI::Option* add_whole(CLI::App& app, const std::string& name, std::int64_t& value,
                       std::int64_t low, std::int64_t high, const std::string& help) {
  return app.add_option(name, value, help)
      ->check(in_range(low, high, "whole number"))
      ->type_name("N");
}

CLI::Option* add_real(CLI::App& app, const std::string& name, double& value, double low,
                      double high, const std::string& help) {
  return app.add_option(name, value, help)->check(in_range(low, high, "number"))->type_name("X");
}

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const std::vector<std::string>& choices, const std::string& help) {
  const auto check = [choices](std::string& text) -> std::string {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return "";
    return fmt::format("expected one of {}; found '{}'{}", joined(choices), text,
                       did_you_mean(nearest(text, choices), ""));
  };
  std::string type;
  for (const std::string& choice : choices) type += (type.empty() ? "" : "|") + choice;
  return app.add_option(name, value, help)->check(CLI::Validator(check, ""))->type_name(type);
}

std::string nearest(std::string_view word, std::span<const std::string> known) {
  std::string best;
  int best_distance = 1 + std::max(1, static_cast<int>(word.size()) / 3);
  for (const std::string& name : known) {
    // One word beginning with the other is meant more often than another of the same length.
    const bool begins = word.size() >= 3 &&
                        (name.starts_with(word) || (name.size() >= 4 && word.starts_with(name)));
    const int distance = begins ? 1 : edit_distance(word, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

void throw_unknown(std::string_view what, std::string_view word,
                   std::span<const std::string> known) {
  const std::string guess = nearest(word, known);
  const std::string hint = guess.empty() ? fmt::format("; known: {}", joined(known))
                                         : fmt::format("; did you mean '{}'?", guess);
  throw Error(ErrorKind::usage, fmt::format("unknown {} '{}'{}", what, word, hint));
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* sub = deepest(&app);
  const std::string see = fmt::format("; see {} --help", full_name(sub));
  const std::vector<std::string> extras = sub->remaining();
  if (!extras.empty()) {
    std::string word = extras.front();
    if (word.starts_with('-')) {
      word = word.substr(0, word.find('='));
      return fmt::format("unknown option '{}' of {}{}", word, full_name(sub),
                         did_you_mean(nearest(word, long_names(sub)), see));
    }
    const std::vector<std::string> names = subcommand_names(sub);
    if (!names.empty()) {
      return fmt::format("unknown command '{}'{}", word,
                         did_you_mean(nearest(word, names), "; known: " + joined(names)));
    }
    return fmt::format("unexpected argument '{}' of {}{}", word, full_name(sub), see);
  }
  std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    text = text.substr(0, text.find(':')) + " needs a value";
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
             !subcommand_names(sub).empty()) {
    text = fmt::format("{} needs one of: {}", full_name(sub), joined(subcommand_names(sub)));
  }
  return text + see;
}

void add_device_flags(CLI::App& app, DeviceFlags& flags, bool kernel_choice) {
  const std::string group = "Device";
  app.add_option("--device", flags.device,
                 "auto (a GPU when there is one), cpu, cuda, cuda:N, or host-cuda (CUDA kernels on "
                 "the CPU)")
      ->capture_default_str()
      ->type_name("DEVICE")
      ->group(group);
  add_whole(app, "--threads", flags.threads, 1, 1024, "CPU threads; default: all of them")
      ->group(group);
  if (!kernel_choice) return;
  add_choice(app, "--precision", flags.precision, {"fp32", "tf32", "bf16"},
             "arithmetic of GEMM and convolution, default fp32; others: GPU only")
      ->group(group);
  app.add_option("--impl", flags.kernels,
                 "kernels to use, as conv=NAME,gemm=NAME; fuse=off: one kernel per layer")
      ->type_name("LIST")
      ->group(group);
  app.add_flag("--deterministic", flags.deterministic,
               "accepted for clarity: every kernel is deterministic already")
      ->group(group);
}

namespace {

// Goes on as weft-host-cuda, which is this program with other kernels, when it is there.
void hand_over_to_host_cuda() {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return;
  const std::string program = (self.parent_path() / "weft-host-cuda").string();
  std::ifstream command_line("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(command_line, word, '\0');) words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());  // returns when it cannot
}

}  // namespace

Device select_device(const DeviceFlags& flags) {
  const std::vector<std::string> known = {"auto", "cpu", "cuda", "host-cuda"};
  const bool looks_known = std::find(known.begin(), known.end(), flags.device) != known.end() ||
                           flags.device.starts_with("cuda:");
  if (!looks_known) throw_unknown("device", flags.device, known);
  if (flags.device == "host-cuda" && !built_for_host_cuda()) hand_over_to_host_cuda();
  if (flags.threads > 0) omp_set_num_threads(static_cast<int>(flags.threads));
  return parse_device(flags.device);
}

void announce_device(const DeviceFlags& flags, Device device) {
  if (flags.device == "auto" && device.is_cpu()) {
    print_notice(fmt::format("running on the CPU: {}", cuda_status().reason));
  }
}

layers::KernelChoice select_kernels(const DeviceFlags& flags, Device device) {
  layers::KernelChoice choice;
  if (flags.precision == "tf32") choice.mode = kernels::ComputeMode::tf32;
  if (flags.precision == "bf16") choice.mode = kernels::ComputeMode::bf16;
  if (choice.mode != kernels::ComputeMode::fp32 && device.is_cpu()) {
    throw Error(
        ErrorKind::usage,
        fmt::format("--precision {} needs a GPU; the CPU computes in fp32", flags.precision));
  }
  std::string_view rest = flags.kernels;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    const std::string_view family = item.substr(0, equals);
    const std::string_view name = equals == item.npos ? "" : item.substr(equals + 1);
    const bool known = family == "conv" || family == "gemm" ||
                       (family == "fuse" && (name == "on" || name == "off"));
    if (equals == item.npos || !known) {
      throw Error(ErrorKind::usage,
                  fmt::format("--impl: expected conv=NAME,gemm=NAME,fuse=on|off; found '{}'",
                              printable(item)));
    }
    if (family == "fuse") choice.fuse = name == "on";
    if (family == "conv") choice.conv = kernels::parse_conv_variant(name);
    if (family == "gemm") choice.gemm = kernels::parse_gemm_variant(name);
  }
  return choice;
}

}  // namespace weft::cli
