// SPDX-License-Identifier: MIT
// The flags of every command, as the manual page tells them.
#pragma once

#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace weft::test {

struct ManualFlag {
  std::string command;             // "kernel warps"
  std::string name;                // "--branch"
  std::string type;                // "N", "none|row>col"; empty for a flag without a value
  std::vector<std::string> words;  // of the type: those that stand for themselves

  // A value that the type takes.
  std::string value() const {
    if (!words.empty()) return words.front();
    return name == "--sample-bits" ? "12" : type == "X" ? "0.5" : "1";
  }
};

// `page`: what `weft man` prints.
inline std::vector<ManualFlag> flags_of_manual(const std::string& page) {
  std::vector<ManualFlag> flags;
  std::string command;
  std::istringstream lines(std::regex_replace(std::regex_replace(page, std::regex(R"(\\&)"), ""),
                                              std::regex(R"(\\-)"), "-"));
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, std::regex(R"re(\.SS "weft (.*)")re"))) command = match[1];
    static const std::regex flag(R"(\\fB(--?[A-Za-z0-9-]+)(, -.)?\\fR( \\fI(.*)\\fR)?)");
    if (!std::regex_match(line, match, flag)) continue;
    flags.push_back({command, match[1], match[4], {}});
    std::istringstream words(flags.back().type);
    for (std::string word; std::getline(words, word, '|');) {
      if (word.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == word.npos) {
        flags.back().words.push_back(word);
      }
    }
  }
  return flags;
}

}  // namespace weft::test
