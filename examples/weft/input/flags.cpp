// SPDX-License-Identifier: MIT
#include "examples/weft/input/flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "engine/text.h"

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

// "--json", "-h" and "--", but neither "-", which is standard input, nor "-1", "-.5" and "-inf".
bool looks_like_flag(std::string_view word) {
  if (!word.starts_with('-') || word == "-") return false;
  double number = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  const bool is_number = error == std::errc{} && stop == end;
  return !is_number && std::string_view("0123456789.").find(word[1]) == word.npos;
}

const CLI::App* find_subcommand(const CLI::App* app, const std::string& name) {
  const auto found =
      app->get_subcommands([&](const CLI::App* sub) { return sub->check_name(name); });
  return found.empty() ? nullptr : found.front();
}

std::string did_you_mean(const std::string& guess, const std::string& otherwise) {
  return guess.empty() ? otherwise : fmt::format("; did you mean '{}'?", guess);
}

}  // namespace

const CLI::App* deepest(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string program_name() {
  const char* name = std::getenv("WEFT_PROGRAM");
  return name == nullptr || *name == '\0' ? "weft" : shell_word(name);
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() != 0;
}

namespace {

template <class Value>
CLI::Option* whole(CLI::App& app, const std::string& name, Value& value, std::int64_t low,
                   std::int64_t high, const std::string& help) {
  return app.add_option(name, value, help)
      ->check(in_range(low, high, "whole number"))
      ->type_name("N");
}

}  // namespace

CLI::Option* add_whole(CLI::App& app, const std::string& name, std::int64_t& value,
                       std::int64_t low, std::int64_t high, const std::string& help) {
  return whole(app, name, value, low, high, help);
}

CLI::Option* add_whole(CLI::App& app, const std::string& name, std::optional<std::int64_t>& value,
                       std::int64_t low, std::int64_t high, const std::string& help) {
  return whole(app, name, value, low, high, help);
}

CLI::Option* add_whole(CLI::App& app, const std::string& name, std::optional<int>& value,
                       std::int64_t low, std::int64_t high, const std::string& help) {
  return whole(app, name, value, low, high, help);
}

CLI::Option* add_real(CLI::App& app, const std::string& name, double& value, double low,
                      double high, const std::string& help) {
  return app.add_option(name, value, help)->check(in_range(low, high, "number"))->type_name("X");
}

CLI::Option* add_reals(CLI::App& app, const std::string& name, std::vector<double>& values,
                       double low, double high, const std::string& help) {
  return app.add_option(name, values, help)
      ->delimiter(',')
      ->check(in_range(low, high, "number"))
      ->expected(1)
      ->type_name("X[,X...]");
}

namespace {

template <class Value>
CLI::Option* choice(CLI::App& app, const std::string& name, Value& value, const Names& choices,
                    const std::string& help) {
  const auto check = [choices](std::string& text) -> std::string {
    if (std::ranges::count(choices, text) > 0) return "";
    return fmt::format("expected one of {}; found '{}'{}", joined(choices), text,
                       did_you_mean(nearest_name(text, choices), ""));
  };
  return app.add_option(name, value, help)
      ->check(CLI::Validator(check, ""))
      ->type_name(joined(choices, "|"));
}

}  // namespace

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const Names& choices, const std::string& help) {
  return choice(app, name, value, choices, help);
}

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::optional<std::string>& value,
                        const Names& choices, const std::string& help) {
  return choice(app, name, value, choices, help);
}

void require_values(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  bool flags_end = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string see = fmt::format("; see {} --help", full_name(command));
    if (word.empty()) {
      throw Error(ErrorKind::usage,
                  fmt::format("{} expects no empty word, found ''{}", full_name(command), see));
    }
    if (flags_end || !looks_like_flag(word)) {
      if (command->get_prefix_command()) return;  // what follows is another program's
      if (const CLI::App* sub = find_subcommand(command, word)) command = sub;
      continue;
    }
    flags_end = word == "--";
    const std::size_t equals = word.starts_with("--") ? word.find('=') : word.npos;
    const std::string name = word.substr(0, equals);
    const CLI::Option* flag = command->get_option_no_throw(name);
    if (flag == nullptr || !takes_value(*flag)) continue;
    std::string found = see;
    if (equals != word.npos) {
      if (equals + 1 < word.size()) continue;
    } else if (++i < words.size() && !words[i].empty()) {
      if (!looks_like_flag(words[i])) continue;
      found = fmt::format(", found '{}'", words[i]);
      const bool is_flag =
          command->get_option_no_throw(words[i].substr(0, words[i].find('='))) != nullptr;
      found += is_flag || !name.starts_with("--")
                   ? see
                   : fmt::format("; {}={} if that is the value", name, words[i]);
    }
    throw Error(ErrorKind::usage, fmt::format("{} needs a value{}", name, found));
  }
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
                         did_you_mean(nearest_name(word, long_names(sub)), see));
    }
    const std::vector<std::string> names = subcommand_names(sub);
    if (!names.empty()) {
      return fmt::format("unknown command '{}'{}", word,
                         did_you_mean(nearest_name(word, names), "; known: " + joined(names)));
    }
    return fmt::format("unexpected argument '{}' of {}{}", word, full_name(sub), see);
  }
  std::string text = error.what();
  for (const CLI::Option* option : sub->get_options()) {  // "--format is required"
    const std::string type = option->get_type_name();
    const bool has_words =
        type.find('|') != type.npos &&
        std::ranges::none_of(type, [](unsigned char c) { return std::isupper(c); });
    if (!has_words || !text.starts_with(option->get_name() + " is required")) continue;
    text += ", one of ";
    for (const char c : type) text += c == '|' ? std::string(", ") : std::string{c};
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
      !subcommand_names(sub).empty()) {
    text = fmt::format("{} needs one of: {}", full_name(sub), joined(subcommand_names(sub)));
  }
  return text + see;
}

std::array<std::int64_t, 3> parse_image_extents(const std::string& flag, const std::string& text) {
  std::array<std::int64_t, 3> extents = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (i > 0 && at != end && *at == 'x') ++at;
    const auto [after, error] = std::from_chars(at, end, extents[i]);
    if (error != std::errc{} || extents[i] < 1 || extents[i] > 1024) break;
    at = after;
    if (i + 1 == extents.size() && at == end) return extents;
  }
  throw Error(
      ErrorKind::usage,
      fmt::format("{} expects CHANNELSxHEIGHTxWIDTH, such as 3x32x32, found {}", flag, text));
}

void require_folder_of(const std::string& flag, const std::string& path) {
  if (data::is_stream(path)) return;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  std::error_code code;
  if (!std::filesystem::is_directory(folder, code)) {
    throw Error(ErrorKind::data, fmt::format("{}: there is no folder {}", flag, folder));
  }
  if (access(folder.c_str(), W_OK) != 0) {
    throw Error(ErrorKind::data,
                fmt::format("{}: cannot write to {}: {}", flag, folder, std::strerror(errno)));
  }
}

std::filesystem::path next_free_run(const std::string& stem) {
  for (int n = 1;; ++n) {
    std::filesystem::path path = fmt::format("runs/{}-{}", stem, n);
    if (!std::filesystem::exists(std::filesystem::symlink_status(path))) return path;
  }
}

void become(const std::string& program, std::vector<std::string> arguments) {
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(program.c_str(), words.data());
}

std::filesystem::path this_program() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed);
}

void add_model(CLI::App& app, std::string& model) {
  app.add_option("MODEL", model, "a run directory or a .safetensors file")
      ->type_name("")
      ->required();
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace weft::cli
