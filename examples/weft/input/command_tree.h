// SPDX-License-Identifier: MIT
// The commands and options that CLI11 was given, for those who tell them: the completions of shells
// and the manual page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

inline std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

inline std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The options that have a name, and so no positional ones.
inline std::vector<const CLI::Option*> flags_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

inline std::vector<std::string> words_of(const CLI::Option& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : flag.get_snames()) names.push_back("-" + name);
  return names;
}

// Calls work(app, " kernel show") for the program itself, whose path is "", and each command.
template <class Work>
void for_each_command(const CLI::App& app, const Work& work, const std::string& path = "") {
  work(app, path);
  for (const CLI::App* sub : subcommands(app)) {
    for_each_command(*sub, work, path + " " + sub->get_name());
  }
}

}  // namespace weft::cli
