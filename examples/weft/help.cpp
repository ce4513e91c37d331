// SPDX-License-Identifier: MIT
// weft completion and weft man: what --help says, for shells and as a manual page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <memory>
#include <sstream>

#include "examples/weft/input/flags.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The options that have a name, and so no positional ones.
std::vector<const CLI::Option*> flags_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

std::vector<std::string> words_of(const CLI::Option& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : flag.get_snames()) names.push_back("-" + name);
  return names;
}

// What an option may be, from its type: auto|on|off are words, FILE and N stand for other values.
struct Choices {
  std::string words;  // "auto on off", each as a shell reads it: row\>col; empty: none
  bool others = false;
};

Choices choices_of(const CLI::Option& flag) {
  Choices choices;
  std::istringstream type(flag.get_type_name());
  for (std::string word; std::getline(type, word, '|');) {
    if (std::ranges::any_of(word, [](unsigned char c) { return std::isupper(c); })) {
      choices.others = true;
      continue;
    }
    if (!choices.words.empty()) choices.words += ' ';
    for (const char c : word) {
      const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
      choices.words += plain ? std::string{c} : std::string{'\\', c};
    }
  }
  return choices;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Calls work(app, " kernel show") for the program itself, whose path is "", and each command.
template <class Work>
void for_each_command(const CLI::App& app, const Work& work, const std::string& path = "") {
  work(app, path);
  for (const CLI::App* sub : subcommands(app)) {
    for_each_command(*sub, work, path + " " + sub->get_name());
  }
}

// `before path after` for each command.
std::string all_paths(const CLI::App& app, std::string_view before, std::string_view after) {
  std::string text;
  for_each_command(app, [&](const CLI::App&, const std::string& path) {
    if (!path.empty()) text += fmt::format("{}{}{}", before, path, after);
  });
  return text;
}

std::string bash_script(const CLI::App& app) {
  std::string words, values;
  for_each_command(app, [&](const CLI::App& command, const std::string& path) {
    words += fmt::format("    \"{}\") words=\"", path);
    for (const CLI::App* sub : subcommands(command)) words += sub->get_name() + " ";
    for (const CLI::Option* flag : flags_of(command)) {
      for (const std::string& name : words_of(*flag)) {
        words += name + " ";
        if (takes_value(*flag)) {
          values += fmt::format("    \"{} {}\") words={} ;;\n", path, name,
                                shell_quoted(choices_of(*flag).words));
        }
      }
    }
    words += "\" ;;\n";
  });
  return fmt::format(R"(# Completion of weft for bash, written by: weft completion bash
_weft() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} last=${{COMP_WORDS[COMP_CWORD - 1]}} path= words= i
  [ "$word" = = ] && word=
  [ "$last" = = ] && last=${{COMP_WORDS[COMP_CWORD - 2]}}
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${{COMP_WORDS[i]}}" in
{0}
      path+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$path" in
{1}  esac
  case "$path $last" in
{2}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  for i in "${{!COMPREPLY[@]}}"; do printf -v "COMPREPLY[i]" %q "${{COMPREPLY[i]}}"; done
}}
complete -o default -F _weft weft
)",
                     replaced(all_paths(app, "      \"", "\" |\\\n") + "\n", " |\\\n\n", ")"),
                     words, values);
}

std::string zsh_quoted(std::string text) {
  for (const char* special : {"\\", "[", "]", ":"}) {
    text = replaced(text, special, fmt::format("\\{}", special));
  }
  return replaced(text, "'", "'\\''");
}

std::string zsh_script(const CLI::App& app) {
  std::string functions;
  for_each_command(app, [&](const CLI::App& command, const std::string& path) {
    const std::string function = "_weft" + replaced(path, " ", "_");
    std::string specs, commands;
    for (const CLI::Option* flag : flags_of(command)) {
      for (const std::string& name : words_of(*flag)) {
        specs += fmt::format(" \\\n    '{}{}[{}]", name, takes_value(*flag) ? "=" : "",
                             zsh_quoted(first_line(flag->get_description())));
        if (takes_value(*flag)) {
          const Choices choices = choices_of(*flag);
          specs += choices.words.empty() ? ":value:_files"
                   : choices.others ? fmt::format(":value:{{compadd {}; _files}}", choices.words)
                                    : fmt::format(":value:({})", choices.words);
        }
        specs += "'";
      }
    }
    for (const CLI::App* sub : subcommands(command)) {
      commands += fmt::format(" '{}:{}'", sub->get_name(), zsh_quoted(sub->get_description()));
    }
    if (commands.empty()) {
      functions +=
          fmt::format("{}() {{\n  _arguments{} \\\n    '*:file:_files'\n}}\n", function, specs);
      return;
    }
    functions += fmt::format(R"({0}() {{
  local state line
  local -a commands=({1})
  _arguments -C{2} \
    '1: :->command' '*:: :->rest'
  case $state in
    command) _describe command commands ;;
    rest) (( $+functions[{0}_$words[1]] )) && {0}_$words[1] ;;
  esac
}}
)",
                             function, commands, specs);
  });
  return "#compdef weft\n# Completion of weft for zsh, written by: weft completion zsh\n" +
         functions +
         // zsh itself loads a file of its folder for completions when _weft is first called.
         "if [ \"$funcstack[1]\" = _weft ]; then _weft \"$@\"; else compdef _weft weft; fi\n";
}

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_script(const CLI::App& app) {
  std::string text = fmt::format(R"(# Completion of weft for fish, written by: weft completion fish
function __weft_at
  set -l path
  for word in (commandline -opc)[2..]
    contains -- "$path $word"{}; and set path "$path $word"
  end
  test "$path" = "$argv[1]"
end
)",
                                 all_paths(app, " '", "'"));
  for_each_command(app, [&](const CLI::App& command, const std::string& path) {
    const std::string here = fmt::format("complete -c weft -n \"__weft_at '{}'\"", path);
    for (const CLI::App* sub : subcommands(command)) {
      text += fmt::format("{} -f -a {} -d {}\n", here, sub->get_name(),
                          fish_quoted(sub->get_description()));
    }
    for (const CLI::Option* flag : flags_of(command)) {
      text += here;
      for (const std::string& name : flag->get_lnames()) text += " -l " + name;
      for (const std::string& name : flag->get_snames()) text += " -s " + name;
      const Choices choices = choices_of(*flag);
      if (takes_value(*flag)) text += choices.words.empty() || choices.others ? " -r" : " -x";
      if (!choices.words.empty()) text += " -a " + fish_quoted(choices.words);
      text += " -d " + fish_quoted(first_line(flag->get_description())) + "\n";
    }
  });
  return text;
}

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
      WEFT_VERSION, roff(replaced(app.get_description(), "Weft: ", "")));
  for_each_command(app, [&](const CLI::App& command, const std::string& path) {
    if (path.empty()) return;
    text += fmt::format(".SS \"weft{}\"\n{}\n{}", roff(path), roff(command.get_description()),
                        roff_options(command));
    if (!command.get_footer().empty()) text += fmt::format(".PP\n{}\n", roff(command.get_footer()));
  });
  return text + ".SH EXIT STATUS\n" + roff(std::string(kExitCodes)) + "\n";
}

}  // namespace

void add_help(CLI::App& app, Action& action) {
  CLI::App* completion = app.add_subcommand(
      "completion", "Print a script that completes weft's commands and flags in a shell");
  auto shell = std::make_shared<std::string>();
  add_choice(*completion, "SHELL", *shell, {"bash", "zsh", "fish"}, "for this shell")->required();
  completion->footer(
      "  weft completion bash > ~/.local/share/bash-completion/completions/weft\n"
      "  weft completion fish > ~/.config/fish/completions/weft.fish\n"
      "  source <(weft completion zsh)");
  completion->callback([&app, &action, shell] {
    action.run = [&app, shell] {
      write_out(*shell == "bash"  ? bash_script(app)
                : *shell == "zsh" ? zsh_script(app)
                                  : fish_script(app));
      return 0;
    };
  });
  CLI::App* page = app.add_subcommand("man", "Print the manual page: weft man | man -l -");
  page->callback([&app, &action] {
    action.run = [&app] {
      write_out(manual_page(app));
      return 0;
    };
  });
}

}  // namespace weft::cli
