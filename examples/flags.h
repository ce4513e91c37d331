// SPDX-License-Identifier: MIT
// What the subcommands share on the command line: checked numbers and names, suggestions for
// misspelt words, and the flags that several of them take.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device.h"
#include "layers/layer.h"

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace weft::cli {

// Run when the command line was valid; returns the exit code.
using Action = std::function<int()>;

// How the person started this program, for commands printed to be typed again: "./run", "weft".
std::string program_name();

// Each subcommand adds itself and, when chosen, sets `action`.
void add_doctor(CLI::App& app, Action& action);
void add_data(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_predict(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_nbody(CLI::App& app, Action& action);
void add_scan(CLI::App& app, Action& action);
void add_histogram(CLI::App& app, Action& action);

// Options whose text must be a number in [low, high]; NaN is in no range.
CLI::Option* add_whole(CLI::App& app, const std::string& name, std::int64_t& value,
                       std::int64_t low, std::int64_t high, const std::string& help);
CLI::Option* add_real(CLI::App& app, const std::string& name, double& value, double low,
                      double high, const std::string& help);
// An option that takes one of a few words.
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const std::vector<std::string>& choices, const std::string& help);

// The nearest of `known` when it is near enough to be meant, else "".
std::string nearest(std::string_view word, std::span<const std::string> known);
// "unknown WHAT 'word'; did you mean 'x'?" or the list of choices; always Error{usage}.
[[noreturn]] void throw_unknown(std::string_view what, std::string_view word,
                                std::span<const std::string> known);

// One line for a command line that CLI11 refused, with a suggestion for a misspelt word.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

struct DeviceFlags {
  std::string device = "auto";
  std::int64_t threads = 0;        // 0: every hardware thread
  std::string precision, kernels;  // empty: fp32, all automatic
  bool deterministic = false;
};

void add_device_flags(CLI::App& app, DeviceFlags& flags, bool kernel_choice);
// Sets the number of OpenMP threads and returns the device.
Device select_device(const DeviceFlags& flags);
// One line on stderr when auto found no GPU, with the reason.
void announce_device(const DeviceFlags& flags, Device device);
layers::KernelChoice select_kernels(const DeviceFlags& flags, Device device);

}  // namespace weft::cli
