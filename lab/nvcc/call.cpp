// SPDX-License-Identifier: MIT
// What the words behind nvcc say.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "engine/error.h"
#include "engine/text.h"
#include "lab/nvcc/nvcc.h"
#include "lab/tokens.h"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;

void append_variable(std::vector<std::string>& words, const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return;
  const std::vector<std::string> more = split_words(value);
  words.insert(words.end(), more.begin(), more.end());
}

// Reads the words one after the other.
class Reader {
 public:
  NvccCall run(std::vector<std::string> words) {
    words_ = std::move(words);
    for (; at_ < words_.size(); ++at_) take();
    if (call_.output.empty() && makes_program()) call_.output = "a.out";
    check();
    return std::move(call_);
  }

 private:
  using Task = NvccCall::Task;

  const std::string& word() const { return words_[at_]; }
  bool is(std::initializer_list<std::string_view> names) const { return one_of(word(), names); }
  bool value_of(std::initializer_list<std::string_view> names, std::string& value) {
    return take_value(words_, at_, names, value);
  }
  bool makes_program() const { return call_.task == Task::program || call_.task == Task::run; }

  void take() {
    std::string value;
    if (value_of({"-optf", "--options-file"}, value)) return insert_file(value);
    if (word().starts_with('@') && word().size() > 1) return insert_file(word().substr(1));
    if (!word().starts_with('-') || word() == "-") return take_input(word());
    if (take_task() || take_dependencies() || take_output()) return;
    if (take_nvcc_flag(words_, at_, call_.flags, call_.ignored)) return take_libraries();
    if (forwards_ || word().starts_with("-W")) return call_.ignored.push_back(word());
    throw Error(ErrorKind::usage,
                fmt::format("nvcc has no option '{}' that the lab knows", printable(word())));
  }

  bool take_task() {
    std::string value;
    if (is({"-V", "--version"})) {
      call_.task = Task::version;
    } else if (is({"-c", "--compile", "-dc", "--device-c", "-dw", "--device-w"})) {
      call_.task = Task::objects;
    } else if (is({"-dlink", "--device-link"})) {
      call_.task = Task::device_link;
    } else if (is({"-lib", "--lib"})) {
      call_.task = Task::archive;
    } else if (is({"-E", "--preprocess"})) {
      call_.task = Task::preprocess;
    } else if (is({"-M", "--generate-dependencies", "-MM", "--generate-nonsystem-dependencies"})) {
      call_.task = Task::dependencies;
    } else if (is({"-run", "--run"})) {
      call_.task = Task::run;
    } else if (value_of({"-run-args", "--run-args"}, value)) {
      call_.arguments.push_back(value);
    } else if (is({"-link", "--link"})) {
      call_.task = Task::program;
    } else if (is({"-shared", "--shared"})) {
      if (call_.task != Task::device_link) shared_ = true;
    } else if (is({"-ptx", "--ptx", "-cubin", "--cubin", "-fatbin", "--fatbin"})) {
      throw Error(ErrorKind::usage, fmt::format("{}: the lab compiles for the CPU, and has no PTX "
                                                "and no binary code of a GPU",
                                                word()));
    } else {
      return false;
    }
    return true;
  }

  bool take_dependencies() {
    std::string value;
    if (is({"-MD", "--generate-dependencies-with-compile", "-MMD",
            "--generate-nonsystem-dependencies-with-compile"})) {
      call_.writes_dependencies = true;
    } else if (is({"-MP", "--generate-dependency-targets"})) {
      call_.phony = true;
    } else if (value_of({"-MF", "--dependency-output"}, value)) {
      call_.dependency_file = value;
    } else if (value_of({"-MT", "-MQ", "--dependency-target-name"}, value)) {
      call_.targets.push_back(value);
    } else {
      return false;
    }
    return true;
  }

  bool take_output() {
    std::string value;
    if (value_of({"-x", "--x"}, value)) {
      language_ = value;
    } else if (is({"-v", "--verbose"})) {
      call_.verbose = true;
    } else if (is({"-dryrun", "--dryrun", "-#"})) {
      call_.dry = true;
    } else if (is({"-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler"})) {
      forwards_ = true;
    } else if (value_of({"-o", "--output-file"}, value)) {
      call_.output = value;
    } else {
      return false;
    }
    return true;
  }

  // Libraries stand in their order among the objects.
  void take_libraries() {
    for (std::string& library : call_.flags.libraries) call_.inputs.push_back(std::move(library));
    call_.flags.libraries.clear();
  }

  void take_input(const std::string& name) {
    const std::string end = fs::path(name).extension().string();
    const std::string language = language_ == "none" ? "" : language_;
    if (!language.empty() || is_source(name) || one_of(end, {".C", ".c++"})) {
      const bool c = language.empty() ? is_c(name) : language == "c";
      const bool cuda = language.empty() ? end == ".cu" : language == "cu";
      call_.sources.push_back({name, c, !c && !cuda});
    } else {
      call_.inputs.push_back(name);
    }
  }

  void insert_file(const std::string& name) {
    if (++files_ > 100) {
      throw Error(ErrorKind::usage, fmt::format("{} names itself", printable(name)));
    }
    const std::vector<std::string> more = words_of_file(name);
    words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, more.begin(), more.end());
  }

  void check() const {
    if (shared_ && call_.task != Task::device_link && call_.task != Task::objects) {
      throw Error(ErrorKind::usage, "-shared: the lab makes programs, and no shared libraries");
    }
    const bool has_input = !call_.sources.empty() || !call_.inputs.empty();
    if (call_.task != Task::version && !has_input) {
      throw Error(ErrorKind::usage, "nvcc needs the name of a file");
    }
    const bool one_output = call_.task == Task::objects || call_.task == Task::preprocess;
    if (one_output && call_.sources.size() > 1 && !call_.output.empty()) {
      throw Error(ErrorKind::usage, "-o takes one source with -c");
    }
  }

  std::vector<std::string> words_;
  std::size_t at_ = 0;
  NvccCall call_;
  std::string language_;
  bool forwards_ = false, shared_ = false;
  int files_ = 0;
};

}  // namespace

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
      continue;
    }
    in_word = true;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
    } else {
      word += c;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

std::vector<std::string> words_of_file(const std::string& name) {
  std::ifstream file(name);
  if (!file) {
    throw Error(ErrorKind::data, fmt::format("{}: no such file of options", printable(name)));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return split_words(text.str());
}

NvccCall read_nvcc_call(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  append_variable(all, "NVCC_PREPEND_FLAGS");
  all.insert(all.end(), words.begin(), words.end());
  append_variable(all, "NVCC_APPEND_FLAGS");
  return Reader().run(std::move(all));
}

}  // namespace weft::lab
