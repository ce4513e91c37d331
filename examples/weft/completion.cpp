// SPDX-License-Identifier: MIT
// weft completion: the commands, flags, words and files that a shell can offer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <sstream>

#include "data/sets/mnist.h"
#include "examples/weft/input/command_tree.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/output/terminal.h"
#include "kernels/catalogue.h"
#include "measure/machine/gpus.h"
#include "models/networks/networks.h"
#include "models/training/recipes.h"

namespace weft::cli {
namespace {

using Words = std::vector<std::string>;

template <class Rows>
Words words_of_rows(const Rows& rows) {
  Words words;
  for (const auto& row : rows) words.emplace_back(row.name);
  return words;
}
Words kernel_names() {
  Words names;
  for (const kernels::Family& family : kernels::catalogue()) {
    names.emplace_back(family.name);
    for (const kernels::Rung& rung : family.rungs()) {
      names.push_back(str(family.name, "/", rung.name));
    }
  }
  return names;
}
Words family_names() {
  Words names = words_of_rows(kernels::catalogue());
  names.insert(names.end(), {"all", "errors", "gemm:layers"});
  return names;
}
Words sets() {
  const auto names = data::dataset_names();
  return {names.begin(), names.end()};
}

constexpr std::string_view kFolders = "/";
constexpr std::string_view kPictures =
    ".png .jpg .jpeg .gif .webp .tif .tiff .heic .heif .avif .bmp .pgm .ppm .pnm";

// What stands for an option whose type does not list its words, by its name or its type. The first
// row that fits counts.
struct Offer {
  std::string_view command;  // begins the path of the commands that this is about; empty: any
  std::string_view option;   // its name, or the name of its type
  Words (*words)() = nullptr;
  std::string_view files = "";  // endings of files; "/": folders and nothing else
};

const Offer kOffers[] = {
    {"", "--model", [] { return words_of_rows(models::networks()); }, ".net"},
    {"", "--dataset", sets},
    {"", "--recipe", [] { return words_of_rows(models::recipes()); }},
    {"", "--gpu", [] { return words_of_rows(measure::gpus()); }},
    {" kernel", "NAME", kernel_names},
    {" kernel", "OTHER", kernel_names},
    {" bench", "FAMILY", family_names},
    {" data", "NAME", sets},
    {" inspect", "MODEL", [] { return words_of_rows(models::networks()); }, ".safetensors .net"},
    {"", "MODEL", nullptr, ".safetensors"},
    {"", "--from", nullptr, ".safetensors"},
    {"", "IMAGE", nullptr, kPictures},
    {"", "FILE.onnx", nullptr, ".onnx"},
    {"", "FILE.html", nullptr, ".html"},
    {"", "DIR", nullptr, kFolders},
    {"", "RUN", nullptr, kFolders},
};

// A word as a shell reads it: row\>col.
std::string escaped(std::string_view word) {
  std::string text;
  for (const char c : word) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) ||
                       std::string_view("-_/:.+").find(c) != std::string_view::npos;
    text += plain ? std::string{c} : std::string{'\\', c};
  }
  return text;
}

// What an option may be.
struct Choices {
  std::string words;       // "auto on off", each as a shell reads it; empty: none
  bool others = false;     // also what is no word
  std::string_view files;  // as Offer has it; empty: any file where there are others

  bool any_file() const { return others && files.empty(); }
};

Choices choices_of(const std::string& path, const CLI::Option& option) {
  Choices choices;
  Words words;
  std::istringstream type(option.get_type_name());
  for (std::string word; std::getline(type, word, '|');) {
    const bool names_values =
        std::ranges::any_of(word, [](unsigned char c) { return std::isupper(c); });
    if (names_values) choices.others = true;
    if (!names_values && !word.empty()) words.push_back(word);
  }
  if (words.empty()) choices.others = true;
  for (const Offer& offer : kOffers) {
    const bool named = option.get_name() == offer.option || option.get_type_name() == offer.option;
    if (!named || !path.starts_with(offer.command)) continue;
    choices.files = offer.files;
    if (offer.words != nullptr) {
      const Words more = offer.words();
      words.insert(words.end(), more.begin(), more.end());
      choices.others = !offer.files.empty();
    }
    break;
  }
  for (const std::string& word : words) {
    choices.words += (choices.words.empty() ? "" : " ") + escaped(word);
  }
  return choices;
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// `before path after` for each command.
std::string all_paths(const CLI::App& app, std::string_view before, std::string_view after) {
  std::string text;
  for_each_command(app, [&](const CLI::App&, const std::string& path) {
    if (!path.empty()) text += fmt::format("{}{}{}", before, path, after);
  });
  return text;
}

// Sets `words` and `files` of the script: what may stand in one place.
std::string bash_choices(const Choices& choices) {
  return fmt::format("words={} files={}", shell_quoted(choices.words),
                     shell_quoted(choices.any_file() ? "*" : std::string(choices.files)));
}

std::string bash_script(const CLI::App& app) {
  std::string places, values;
  for_each_command(app, [&](const CLI::App& command, const std::string& path) {
    std::string flags, words, files;
    for (const CLI::App* sub : subcommands(command)) words += sub->get_name() + " ";
    for (const CLI::Option* positional : positionals_of(command)) {
      const Choices choices = choices_of(path, *positional);
      words += choices.words + " ";
      files += choices.any_file() ? "* " : std::string(choices.files) + " ";
    }
    for (const CLI::Option* flag : flags_of(command)) {
      for (const std::string& name : words_of(*flag)) {
        flags += name + " ";
        if (takes_value(*flag)) {
          values += fmt::format("    \"{} {}\") flags= {} ;;\n", path, name,
                                bash_choices(choices_of(path, *flag)));
        }
      }
    }
    places += fmt::format("    \"{}\") flags=\"{}\" words={} files={} ;;\n", path, flags,
                          shell_quoted(words), shell_quoted(files));
  });
  return fmt::format(R"(# Completion of weft for bash, written by: weft completion bash
_weft() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} last=${{COMP_WORDS[COMP_CWORD - 1]}} path= flags= words= files= i
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
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  for i in "${{!COMPREPLY[@]}}"; do
    if [[ ${{COMPREPLY[i]}} == */* && $word != */* ]]; then unset "COMPREPLY[i]"; continue; fi
    printf -v "COMPREPLY[i]" %q "${{COMPREPLY[i]}}"
  done
  if [[ -z ${{files// /}} ]]; then
    compopt +o default 2>/dev/null
  elif [[ $files != *'*'* ]]; then
    compopt +o default -o filenames 2>/dev/null
    while IFS= read -r last; do
      if [ -d "$last" ]; then COMPREPLY+=("$last"); continue; fi
      for i in $files; do [[ ${{last,,}} == *"$i" ]] && COMPREPLY+=("$last"); done
    done < <(compgen -f -- "$word")
  fi
}}
complete -o default -F _weft weft
)",
                     replaced(all_paths(app, "      \"", "\" |\\\n") + "\n", " |\\\n\n", ")"),
                     places, values);
}

std::string zsh_quoted(std::string text) {
  for (const char* special : {"\\", "[", "]", ":"}) {
    text = replaced(text, special, fmt::format("\\{}", special));
  }
  return replaced(text, "'", "'\\''");
}

// The action of a zsh specification.
std::string zsh_action(const Choices& choices) {
  std::string files;
  if (choices.others) {
    files = choices.files.empty() ? "_files"
            : choices.files == kFolders
                ? "_files -/"
                : fmt::format("_files -g \"(#i)*({})\"",
                              replaced(std::string(choices.files), " ", "|"));
  }
  if (choices.words.empty()) return files;
  return files.empty() ? fmt::format("({})", choices.words)
                       : fmt::format("{{compadd {}; {}}}", choices.words, files);
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
        if (takes_value(*flag)) specs += ":value:" + zsh_action(choices_of(path, *flag));
        specs += "'";
      }
    }
    for (const CLI::App* sub : subcommands(command)) {
      commands += fmt::format(" '{}:{}'", sub->get_name(), zsh_quoted(sub->get_description()));
    }
    if (commands.empty()) {
      int place = 0;
      for (const CLI::Option* positional : positionals_of(command)) {
        const bool many = positional->get_items_expected_max() > 1;
        specs += fmt::format(" \\\n    '{}:{}:{}'", many ? "*" : std::to_string(++place),
                             zsh_quoted(positional->get_name()),
                             zsh_action(choices_of(path, *positional)));
      }
      if (positionals_of(command).empty()) specs += " \\\n    '*:file:_files'";
      functions += fmt::format("{}() {{\n  _arguments{}\n}}\n", function, specs);
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

// The words and files that may stand in one place, as arguments of `complete`.
std::string fish_choices(const Choices& choices) {
  std::string offered = choices.words;
  if (choices.files == kFolders) offered += " (__fish_complete_directories)";
  if (choices.others && !choices.files.empty() && choices.files != kFolders) {
    std::istringstream endings{std::string(choices.files)};
    for (std::string ending; endings >> ending;) {
      offered += fmt::format(" (__fish_complete_suffix {})", ending);
    }
  }
  return offered.empty() ? "" : " -a " + fish_quoted(offered);
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
    for (const CLI::Option* positional : positionals_of(command)) {
      const Choices choices = choices_of(path, *positional);
      text += here + (choices.any_file() ? "" : " -f") + fish_choices(choices) + "\n";
    }
    for (const CLI::Option* flag : flags_of(command)) {
      text += here;
      for (const std::string& name : flag->get_lnames()) text += " -l " + name;
      for (const std::string& name : flag->get_snames()) text += " -s " + name;
      if (takes_value(*flag)) {
        const Choices choices = choices_of(path, *flag);
        text += (choices.any_file() ? " -r" : " -x") + fish_choices(choices);
      }
      text += " -d " + fish_quoted(first_line(flag->get_description())) + "\n";
    }
  });
  return text;
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
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
}

}  // namespace weft::cli
