// SPDX-License-Identifier: MIT
// The program as a function: the command line, and what is printed when something fails.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <new>
#include <sstream>

#include "data/versions/build_info.h"
#include "engine/error.h"
#include "engine/stop.h"
#include "engine/timings.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/interrupt.h"
#include "examples/weft/input/ranks.h"
#include "examples/weft/kernel/kernel.h"
#include "examples/weft/output/tables.h"
#include "examples/weft/output/terminal.h"
#include "examples/weft/program.h"

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
  add("serve MODEL", "draw digits in a browser, and watch the network read them");
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

// --help after a command that is none: without it CLI11 says so, and with it prints its parent's.
void drop_help_of_nothing(const CLI::App& app, std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  for (const std::string& word : arguments) {
    if (word.starts_with('-')) return;
    const auto every = [](const CLI::App*) { return true; };
    if (command->get_subcommands(every).empty() || command->get_prefix_command()) return;
    const auto found =
        command->get_subcommands([&](const CLI::App* sub) { return sub->check_name(word); });
    if (found.empty()) break;
    command = found.front();
  }
  std::erase_if(arguments,
                [](const std::string& word) { return word == "--help" || word == "-h"; });
}

// Parts of one name, such as those of several epochs, are added up.
void print_timings() {
  struct Row {
    double start, seconds;
    int times;
    const weft::TimedPart* part;
  };
  std::vector<Row> rows;
  const std::vector<weft::TimedPart> parts = weft::timings();
  for (const weft::TimedPart& part : parts) {
    const auto same = std::ranges::find_if(rows, [&](const Row& row) {
      return row.part->name == part.name && row.part->depth == part.depth;
    });
    if (same == rows.end()) {
      rows.push_back({part.start, part.seconds, 1, &part});
    } else {
      same->seconds += part.seconds;
      ++same->times;
    }
  }
  if (rows.empty()) return;
  const Terminal terminal = detect_terminal(kStderr);
  std::vector<Cells> cells;
  for (const Row& row : rows) {
    cells.push_back({fmt::format("{:.3f}", row.start), fmt::format("{:.3f}", row.seconds),
                     std::string(static_cast<std::size_t>(2 * row.part->depth), ' ') +
                         row.part->name +
                         (row.times > 1 ? fmt::format(", {} times", row.times) : "") +
                         (row.part->beside ? " (beside)" : "")});
  }
  const double all = weft::seconds_since_start();
  cells.push_back({"", fmt::format("{:.3f}", all), "in all"});
  write_log(format_table({{"begins, s"}, {"takes, s"}, {"part", Align::left}}, cells, terminal));
}

constexpr std::size_t kHelpColumn = 34;         // where what an option does begins
constexpr int kNarrow = 60, kNarrowIndent = 6;  // below so many columns it stands under the option

std::string wrapped_help(const std::string& help) {
  const int width = detect_terminal(kStdout).width;
  std::string out;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const bool is_option = line.starts_with("  ") && line.size() > kHelpColumn;
    std::string names = line.substr(0, is_option ? kHelpColumn : 0);
    std::size_t indent = names.size();
    if (is_option && width < kNarrow) {
      indent = kNarrowIndent;
      names.erase(names.find_last_not_of(' ') + 1);
      names += (names.empty() ? "" : "\n") + std::string(indent, ' ');
    }
    out += names +
           wrapped(std::string_view(line).substr(is_option ? kHelpColumn : 0), width,
                   static_cast<int>(indent)) +
           "\n";
  }
  return out;
}

int run(std::vector<std::string> arguments) {
  if (arguments.empty()) {
    write_out(welcome());
    return 0;
  }
  if (const std::optional<int> code = run_in_place_of_nvcc(arguments)) return *code;
  rewrite_help(arguments);
  CLI::App app{"Weft: a small deep-learning engine of hand-written CUDA kernels.", "weft"};
  app.set_version_flag("--version,-V", "weft " + weft::build_info().version);
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.get_formatter()->column_width(kHelpColumn);
  app.get_formatter()->label("OPTIONS", "flags");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("REQUIRED", "");
  Action action;
  add_commands(app, action);
  app.footer("weft COMMAND --help says more.");
  for (CLI::App* command : app.get_subcommands({})) command->group("Commands");
  drop_help_of_nothing(app, arguments);
  require_values(app, arguments);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::Success& success) {
    const bool version = dynamic_cast<const CLI::CallForVersion*>(&success) != nullptr;
    write_out(version ? std::string(success.what()) + "\n"
                      : wrapped_help(fmt::format("{}\n{}", app.help(), kExitCodes)));
    return 0;
  } catch (const CLI::ParseError& error) {
    print_error(explain(app, error));
    return static_cast<int>(weft::ErrorKind::usage);
  }
  hand_over_to_host_cuda(app, action);
  const int code = action.run();
  print_timings();
  return code;
}

}  // namespace

void weft::cli::add_commands(CLI::App& app, Action& action) {
  add_train(app, action);
  add_predict(app, action);
  add_serve(app, action);
  add_eval(app, action);
  add_inspect(app, action);
  add_export(app, action);
  add_import(app, action);
  add_data(app, action);
  add_doctor(app, action);
  add_kernel(app, action);
  add_bench(app, action);
  add_nbody(app, action);
  add_scan(app, action);
  add_histogram(app, action);
  add_lab(app, action);
  add_completion(app, action);
  add_manual(app, action);
}

int weft::cli::run_program(const std::vector<std::string>& arguments) {
  // A closed pipe and a file-size limit are reported by the call that meets them.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct AtTheEnd {
    ~AtTheEnd() { leave_signals(); }
  } at_the_end;
  try {
    const int code = run(arguments);
    leave_ranks();
    return code;
  } catch (const weft::Stopped& stopped) {  // before there was anything to save
    print_notice("there was nothing to save yet");
    end_by_caught_signal();
    fail_ranks(stopped.what());
    return stopped.exit_code();
  } catch (const weft::Error& error) {
    fail_ranks(error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    fail_ranks("out of memory");
    return static_cast<int>(weft::ErrorKind::device);
  } catch (const std::exception& error) {
    fail_ranks(fmt::format("unexpected: {}", error.what()));
    return static_cast<int>(weft::ErrorKind::check_failed);
  }
}
