// SPDX-License-Identifier: MIT
// What the subcommands share on the command line: checked numbers and names, suggestions for
// misspelt words, and the flags that several of them take.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device.h"
#include "engine/names.h"
#include "layers/layer.h"

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace weft::cli {

// What a valid command line asks for.
struct Action {
  std::function<int()> run;   // returns the exit code
  bool on_host_cuda = false;  // whatever its --device says
};

// How the person started this program, for commands printed to be typed again: "./run", "weft".
std::string program_name();
std::vector<std::string> command_line();  // the words that this program was started with

// Each subcommand adds itself and, when chosen, sets `action`.
void add_doctor(CLI::App& app, Action& action);
void add_data(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_predict(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_nbody(CLI::App& app, Action& action);
void add_scan(CLI::App& app, Action& action);
void add_histogram(CLI::App& app, Action& action);
void add_lab(CLI::App& app, Action& action);
// The exit code of `weft lab nvcc WORDS...`, whose words are nvcc's and not Weft's; empty for
// another command.
std::optional<int> run_in_place_of_nvcc(const std::vector<std::string>& arguments);
// These two come after all others, which they tell.
void add_completion(CLI::App& app, Action& action);
void add_manual(CLI::App& app, Action& action);
void add_commands(CLI::App& app, Action& action);  // all of them

// At the end of every --help; docs/exit-codes.md has examples.
inline constexpr std::string_view kExitCodes =
    "Exit codes: 0 ok, 1 a check failed, 2 usage, 3 a file is missing, bad or cannot\n"
    "be written, 4 device error, 130 interrupted after writing a checkpoint.\n";

// Options whose text must be a number in [low, high]; NaN is in no range.
CLI::Option* add_whole(CLI::App& app, const std::string& name, std::int64_t& value,
                       std::int64_t low, std::int64_t high, const std::string& help);
CLI::Option* add_whole(CLI::App& app, const std::string& name, std::optional<std::int64_t>& value,
                       std::int64_t low, std::int64_t high, const std::string& help);
CLI::Option* add_whole(CLI::App& app, const std::string& name, std::optional<int>& value,
                       std::int64_t low, std::int64_t high, const std::string& help);
CLI::Option* add_real(CLI::App& app, const std::string& name, double& value, double low,
                      double high, const std::string& help);
// "3x32x32": the channels, height and width of an image. Throws usage, naming the flag, for other
// text.
std::array<std::int64_t, 3> parse_image_extents(const std::string& flag, const std::string& text);
// One or several of them, with commas between.
CLI::Option* add_reals(CLI::App& app, const std::string& name, std::vector<double>& values,
                       double low, double high, const std::string& help);
// An option that takes one of a few words.
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const Names& choices, const std::string& help);
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::optional<std::string>& value,
                        const Names& choices, const std::string& help);

// Refuses, before any work is done, a file to be written whose folder is not there or closed.
void require_folder_of(const std::string& flag, const std::string& path);

// runs/STEM-N with the first N that is free.
std::filesystem::path next_free_run(const std::string& stem);

// Goes on as another program; returns only when that cannot be started.
void become(const std::string& program, std::vector<std::string> arguments);
std::filesystem::path this_program();  // empty when that cannot be told

// The option that names a trained model.
void add_model(CLI::App& app, std::string& model);

const CLI::App* deepest(const CLI::App* app);  // the subcommand that the words chose
bool takes_value(const CLI::Option& option);   // --epochs does, --json does not
// Throws usage for a flag that takes a value and has none: at the end of the words, before another
// flag, or an empty one. CLI11 takes the next word for the value, whatever it is. The same for an
// empty word in the place of a name. What follows the file of `lab run` is not looked at.
void require_values(const CLI::App& app, const std::vector<std::string>& words);
// One line for a command line that CLI11 refused, with a suggestion for a misspelt word.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

inline constexpr const char* kInt8 = "int8";  // a precision of commands that classify

struct DeviceFlags {
  std::string device = "auto";
  std::optional<std::int64_t> threads;            // none: every hardware thread
  std::optional<std::string> precision, kernels;  // none: fp32, all automatic
  bool deterministic = false, batch_invariant = false;
  bool offers_int8 = false;               // of commands that can classify in 8-bit integers
  std::optional<std::string> data_limit;  // none: half the memory of a GPU
};

// `host_cuda`: whether the help offers that device. Without `kernel_choice`, --precision is there
// where it may be int8.
void add_device_flags(CLI::App& app, DeviceFlags& flags, bool kernel_choice, bool host_cuda = true);
// --batch-invariant, of commands that classify.
void add_batch_invariant(CLI::App& app, DeviceFlags& flags);
// --device-data-limit, of commands that go through a data set, and its bytes; 0 when it was not
// given. Throws usage for text that is no size.
void add_device_data_limit(CLI::App& app, DeviceFlags& flags);
std::uint64_t device_data_limit(const DeviceFlags& flags);
// Goes on as weft-host-cuda, which is this program with other kernels, where --device of
// add_device_flags() or the action asks for it. Returns where this is that program, or it is not
// there. The program calls this before it does anything else.
void hand_over_to_host_cuda(const CLI::App& app, const Action& action);
// Sets the number of OpenMP threads and returns the device.
Device select_device(const DeviceFlags& flags);
// Was --precision int8 asked for? Sets the number of threads then, and throws usage for a device
// that is no CPU, and for flags that choose other kernels.
bool is_int8(const DeviceFlags& flags);
// One line on a terminal when auto found no GPU, with the reason.
void announce_device(const DeviceFlags& flags, Device device);
// The choice of --precision, --impl and --batch-invariant, which change single settings of
// `choice`.
layers::KernelChoice select_kernels(const DeviceFlags& flags, Device device,
                                    layers::KernelChoice choice = {});

}  // namespace weft::cli
