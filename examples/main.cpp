// SPDX-License-Identifier: MIT
// weft: trains digit classifiers and reads images with them. One file per subcommand.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <new>

#include "engine/error.h"
#include "examples/flags.h"
#include "examples/kernel_command.h"
#include "examples/terminal.h"

namespace {

using namespace weft::cli;

std::string welcome() {
  const std::string program = program_name();
  const Terminal terminal = detect_terminal(kStdout);
  const std::size_t width = program.size() + 24;
  std::string text =
      "Weft trains small neural networks with hand-written kernels, on a GPU or without one.\n\n";
  const auto add = [&](std::string_view arguments, std::string_view what) {
    text += fmt::format("  {:<{}}  {}\n", fmt::format("{} {}", program, arguments), width,
                        paint(terminal, "2", what));
  };
  add("train", "train a LeNet-5 on handwritten digits");
  add("predict MODEL IMAGE...", "read the digit in a picture");
  add("nbody", "let two galaxies collide, and draw them");
  add("doctor", "show what will run on this machine");
  return text + fmt::format("\n{} --help lists every command.\n", program);
}

// `weft help` and `weft help train` are what people try first.
void rewrite_help(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "help") return;
  arguments.erase(arguments.begin());
  arguments.push_back("--help");
}

int run(std::vector<std::string> arguments) {
  if (arguments.empty()) {
    write_out(welcome());
    return 0;
  }
  rewrite_help(arguments);
  CLI::App app{"Weft: a small deep-learning engine of hand-written CUDA kernels.", "weft"};
  app.set_version_flag("--version,-V", "weft " WEFT_VERSION);
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.get_formatter()->column_width(34);
  app.get_formatter()->label("OPTIONS", "flags");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("REQUIRED", "");
  app.footer(
      "Exit codes: 0 ok, 1 a check failed, 2 usage, 3 bad data or model file, 4 device error,\n"
      "130 interrupted after writing a checkpoint. weft COMMAND --help says more.");
  Action action;
  add_train(app, action);
  add_predict(app, action);
  add_eval(app, action);
  add_inspect(app, action);
  add_data(app, action);
  add_doctor(app, action);
  add_kernel(app, action);
  add_bench(app, action);
  add_nbody(app, action);
  add_scan(app, action);
  add_histogram(app, action);
  for (CLI::App* command : app.get_subcommands({})) command->group("Commands");
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::Success& success) {
    const bool version = dynamic_cast<const CLI::CallForVersion*>(&success) != nullptr;
    write_out(version ? std::string(success.what()) + "\n" : app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    print_error(explain(app, error));
    return static_cast<int>(weft::ErrorKind::usage);
  }
  return action();
}

// Idle threads of GCC's OpenMP spin for milliseconds before they sleep, which starves the working
// ones when other programs use the cores too (measured: a tenth of the speed and less). A short
// spin costs an idle machine nothing, but can only be asked for before a program starts.
void limit_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "2000", 1);
  execv("/proc/self/exe", argv);  // goes on as it is where that fails
}

}  // namespace

int main(int argc, char** argv) {
  limit_spinning(argv);
  // A closed pipe and a file-size limit are reported by the call that meets them.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc > 0) setenv("WEFT_PROGRAM", argv[0], 0);  // ./run has set it to itself
  try {
    return run({argv + std::min(argc, 1), argv + argc});
  } catch (const weft::Error& error) {
    print_error(error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
    return static_cast<int>(weft::ErrorKind::device);
  } catch (const std::exception& error) {
    print_error(fmt::format("unexpected: {}", error.what()));
    return static_cast<int>(weft::ErrorKind::check_failed);
  }
}
