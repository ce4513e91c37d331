// SPDX-License-Identifier: MIT
// Any words are a command line of weft or one line of error. Nothing of it runs.
//
// The input is the words, one to a line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "examples/weft/input/flags.h"
#include "examples/weft/output/terminal.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace weft;

// What parses is chosen by the words; making it for each input would take most of the time.
struct Program {
  CLI::App app{"", "weft"};
  cli::Action action;

  Program() {
    app.require_subcommand(1);
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    cli::add_commands(app, action);
  }
};

// As CLI11 takes them: the last comes first.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string word(text.substr(0, end));
    std::erase(word, '\0');  // which no argument has
    words.push_back(std::move(word));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::reverse(words.begin(), words.end());
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static Program program;
  const fuzz::TimeLimit limit(2);
  std::vector<std::string> words = words_of(fuzz::text_of({bytes, size}));
  program.action = {};
  try {
    program.app.parse(words);
    fuzz::require(program.action.run != nullptr, "a command line that does nothing");
  } catch (const CLI::Success&) {  // --help
  } catch (const CLI::ParseError& error) {
    fuzz::require(!printable(cli::explain(program.app, error)).empty(), "an empty error");
  } catch (const Error& error) {
    fuzz::require(error.kind() == ErrorKind::usage, "an error of another kind");
  }
  return 0;
}
