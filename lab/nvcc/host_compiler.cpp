// SPDX-License-Identifier: MIT
// A host compiler in a lab shell. Courses link with g++ what nvcc has compiled, and compile with it
// sources that include cuda_runtime.h.
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "engine/error.h"
#include "engine/text.h"
#include "lab/compile/process.h"
#include "lab/nvcc/nvcc.h"
#include "lab/tokens.h"
#include "lab/translate/translate.h"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> with_response_files(const std::vector<std::string>& given) {
  std::vector<std::string> words;
  for (const std::string& word : given) {
    if (word.starts_with('@') && fs::is_regular_file(word.substr(1))) {
      const std::vector<std::string> more = words_of_file(word.substr(1));
      words.insert(words.end(), more.begin(), more.end());
    } else {
      words.push_back(word);
    }
  }
  return words;
}

std::vector<std::string> folders_of(const std::vector<std::string>& words) {
  std::vector<std::string> folders;
  std::string value;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_last = i + 1 == words.size();
    if (words[i].starts_with("-I") && (words[i].size() > 2 || !is_last)) {
      take_value(words, i, {"-I"}, value);
      folders.push_back(value);
    }
  }
  return folders;
}

// Is this a call for the lab?
bool is_for_lab(const std::vector<std::string>& words) {
  const std::vector<std::string> folders = folders_of(words);
  bool links = true, names_runtime = false, is_own = false;
  for (const std::string& word : words) {
    links = links && !one_of(word, {"-c", "-S", "-E", "-M", "-MM", "-r", "-fsyntax-only"});
    names_runtime = names_runtime || one_of(word, {"-lcuda", "-lcudart", "-lcudart_static"});
    is_own = is_own || word == "-fsanitize=thread";  // its objects look like the lab's
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_source(words[i]) && includes_cuda(words[i], folders)) return true;
    if (links && !is_own && (names_runtime || holds_lab_code(words[i]))) return true;
  }
  return false;
}

}  // namespace

bool holds_lab_code(const std::string& name) {
  const std::string end = fs::path(name).extension().string();
  if (name.starts_with('-') || !one_of(end, {".o", ".a", ".obj"})) return false;
  std::ostringstream bytes;
  bytes << std::ifstream(name, std::ios::binary).rdbuf();
  // A call that its instrumentation has put there.
  return bytes.str().find("__tsan_init") != std::string::npos;
}

int run_host_compiler(const std::string& name, const std::vector<std::string>& given,
                      const fs::path& weft, const Tell& tell) {
  const std::string compiler = find_command(name);
  if (compiler.empty()) {
    throw Error(ErrorKind::usage, fmt::format("there is no {} on PATH", printable(name)));
  }
  std::vector<std::string> words = with_response_files(given);
  if (is_for_lab(words)) {
    words.insert(words.begin(), "-forward-unknown-to-host-compiler");
    return run_nvcc(words, weft, tell);
  }
  words = given;
  words.insert(words.begin(), compiler);
  return run_program(words);
}

}  // namespace weft::lab
