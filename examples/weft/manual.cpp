// SPDX-License-Identifier: MIT
// weft man: what --help says, as a manual page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "data/versions/build_info.h"
#include "examples/weft/input/command_tree.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

// Text of a manual page: nothing in it is a request to the formatter.
std::string roff(const std::string& text) {
  const std::string plain = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  return replaced(replaced("\\&" + plain, "\n", "\n.br\n\\&"), "\n.br\n\\&\n.br", "\n.sp");
}

std::string roff_options(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (option == command.get_help_ptr()) continue;
    const std::string name = option->nonpositional()
                                 ? fmt::format("{}", fmt::join(words_of(*option), ", "))
                                 : option->get_name(true);
    const std::string type = takes_value(*option) ? option->get_type_name() : "";
    const std::string fallback = option->get_default_str();
    text += fmt::format(".TP\n\\fB{}\\fR{}\n{}{}\n", roff(name),
                        type.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(type)),
                        roff(option->get_description()),
                        fallback.empty() ? "" : roff(fmt::format(" (default: {})", fallback)));
  }
  return text;
}

std::string manual_page(const CLI::App& app) {
  std::string text = fmt::format(
      ".TH WEFT 1 \"\" \"weft {}\" \"User Commands\"\n.SH NAME\nweft \\- {}\n"
      ".SH SYNOPSIS\n.B weft\n\\fICOMMAND\\fR [\\fIflags\\fR] [\\fB\\-\\-help\\fR]\n.SH COMMANDS\n",
      build_info().version, roff(replaced(app.get_description(), "Weft: ", "")));
  for_each_command(app, [&](const CLI::App& command, const std::string& path) {
    if (path.empty()) return;
    text += fmt::format(".SS \"weft{}\"\n{}\n{}", roff(path), roff(command.get_description()),
                        roff_options(command));
    if (!command.get_footer().empty()) text += fmt::format(".PP\n{}\n", roff(command.get_footer()));
  });
  return text + ".SH EXIT STATUS\n" + roff(std::string(kExitCodes)) + "\n";
}

}  // namespace

void add_manual(CLI::App& app, Action& action) {
  CLI::App* page = app.add_subcommand("man", "Print the manual page: weft man | man -l -");
  page->callback([&app, &action] {
    action.run = [&app] {
      write_out(manual_page(app));
      return 0;
    };
  });
}

}  // namespace weft::cli
