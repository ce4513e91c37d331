// SPDX-License-Identifier: MIT
// What nvcc's flags mean to the lab.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "engine/error.h"
#include "engine/text.h"
#include "lab/compile/compile.h"
#include "lab/tokens.h"

namespace weft::lab {
namespace {

// They choose a GPU, how well code is optimised, what is told of it, or a library that is always
// there. A value is in the same word, behind = or at once, or where it may be, in the next one.
struct Ignored {
  std::string_view flag;
  bool value = false;   // the next word is its value when the flag stands alone
  bool prefix = false;  // what follows in the word belongs to it
};
constexpr std::array kIgnored = {
    Ignored{"-O", false, true},
    Ignored{"--optimize", true, true},
    Ignored{"-Ofast-compile", true, true},
    Ignored{"-g"},
    Ignored{"-G"},
    Ignored{"-pg"},
    Ignored{"--profile"},
    Ignored{"--debug"},
    Ignored{"--device-debug"},
    Ignored{"-lineinfo"},
    Ignored{"--lineinfo"},
    Ignored{"--generate-line-info"},
    Ignored{"-src-in-ptx"},
    Ignored{"--source-in-ptx"},
    Ignored{"-arch", true, true},
    Ignored{"--gpu-architecture", true, true},
    Ignored{"-code", true, true},
    Ignored{"--gpu-code", true, true},
    Ignored{"-gencode", true, true},
    Ignored{"--gencode", true, true},
    Ignored{"--generate-code", true, true},
    Ignored{"-rdc", true, true},
    Ignored{"--relocatable-device-code", true, true},
    Ignored{"-dlto"},
    Ignored{"--dlink-time-opt"},
    Ignored{"-use_fast_math"},
    Ignored{"--use_fast_math"},
    Ignored{"-fmad", true, true},
    Ignored{"--fmad", true, true},
    Ignored{"-ftz", true, true},
    Ignored{"--ftz", true, true},
    Ignored{"-prec-div", true, true},
    Ignored{"--prec-div", true, true},
    Ignored{"-prec-sqrt", true, true},
    Ignored{"--prec-sqrt", true, true},
    Ignored{"-restrict"},
    Ignored{"--restrict"},
    Ignored{"-extra-device-vectorization"},
    Ignored{"--extra-device-vectorization"},
    Ignored{"-maxrregcount", true, true},
    Ignored{"--maxrregcount", true, true},
    Ignored{"-Xptxas", true, true},
    Ignored{"--ptxas-options", true, true},
    Ignored{"-Xnvlink", true, true},
    Ignored{"--nvlink-options", true, true},
    Ignored{"-Xcudafe", true, true},
    Ignored{"--cudafe-options", true, true},
    Ignored{"-Xarchive", true, true},
    Ignored{"-res-usage"},
    Ignored{"--resource-usage"},
    Ignored{"-m64"},
    Ignored{"-m", true, true},
    Ignored{"--machine", true, true},
    Ignored{"-x", true},
    Ignored{"-ccbin", true, true},
    Ignored{"--compiler-bindir", true, true},
    Ignored{"-allow-unsupported-compiler"},
    Ignored{"--allow-unsupported-compiler"},
    Ignored{"-forward-unknown-to-host-compiler"},
    Ignored{"--forward-unknown-to-host-compiler"},
    Ignored{"-w"},
    Ignored{"--disable-warnings"},
    Ignored{"-Werror", true, true},
    Ignored{"--Werror", true, true},
    Ignored{"-Wno-deprecated-gpu-targets"},
    Ignored{"-Wreorder"},
    Ignored{"--Wreorder"},
    Ignored{"-Wext-lambda-captures-this"},
    Ignored{"-diag-suppress", true, true},
    Ignored{"--diag-suppress", true, true},
    Ignored{"-diag-warn", true, true},
    Ignored{"--diag-warn", true, true},
    Ignored{"-diag-error", true, true},
    Ignored{"--diag-error", true, true},
    Ignored{"--display-error-number"},
    Ignored{"-expt-relaxed-constexpr"},
    Ignored{"--expt-relaxed-constexpr"},
    Ignored{"-expt-extended-lambda"},
    Ignored{"--expt-extended-lambda"},
    Ignored{"-extended-lambda"},
    Ignored{"--extended-lambda"},
    Ignored{"-default-stream", true, true},
    Ignored{"--default-stream", true, true},
    Ignored{"-cudart", true, true},
    Ignored{"--cudart", true, true},
    Ignored{"-cudadevrt", true, true},
    Ignored{"--cudadevrt", true, true},
    Ignored{"-t", true, true},
    Ignored{"--threads", true, true},
    Ignored{"-split-compile", true, true},
    Ignored{"--split-compile", true, true},
    Ignored{"-keep"},
    Ignored{"--keep"},
    Ignored{"-save-temps"},
    Ignored{"--save-temps"},
    Ignored{"-keep-dir", true, true},
    Ignored{"--keep-dir", true, true},
    Ignored{"-lm"},
    Ignored{"-lpthread"},
    Ignored{"-lrt"},
    Ignored{"-ldl"},
    Ignored{"-lcudart"},
    Ignored{"-lcudart_static"},
    Ignored{"-lcuda"},
    Ignored{"-lcudadevrt"},
    Ignored{"-lstdc++"},
    Ignored{"-lnvToolsExt"},
};

// Libraries of a toolkit that the lab does not have. A program that calls them does not link.
constexpr std::array<std::string_view, 13> kToolkitLibraries = {
    "cublas", "curand", "cufft", "cusparse", "cusolver", "cudnn",    "nvrtc",
    "cupti",  "nvml",   "npp",   "nvjpeg",   "nccl",     "nvidia-ml"};

bool is_of_toolkit(std::string_view library) {
  return std::any_of(kToolkitLibraries.begin(), kToolkitLibraries.end(),
                     [&](std::string_view one) { return library.starts_with(one); });
}

// Options for the host compiler, which -Xcompiler hands on.
void take_host_options(const std::string& list, CompilerFlags& flags,
                       std::vector<std::string>& ignored) {
  std::istringstream blanks([&] {
    std::string words = list;
    std::replace(words.begin(), words.end(), ',', ' ');
    std::erase_if(words, [](char c) { return c == '"' || c == '\''; });
    return words;
  }());
  for (std::string word; blanks >> word;) {
    if (word.starts_with("-fopenmp")) {
      flags.openmp = true;
    } else if (one_of(word, {"-fPIC", "-fpic", "-fPIE", "-fpie", "-pthread"})) {
      flags.passed_on.push_back(word);
    } else if (word.starts_with("-I") && word.size() > 2) {
      flags.folders.push_back(word.substr(2));
    } else if (word.starts_with("-D") && word.size() > 2) {
      flags.definitions.push_back(word.substr(2));
    } else {
      ignored.push_back(word);
    }
  }
}

void take_library(const std::string& name, CompilerFlags& flags,
                  std::vector<std::string>& ignored) {
  const std::string word = "-l" + name;
  const bool is_there = std::any_of(kIgnored.begin(), kIgnored.end(),
                                    [&](const Ignored& one) { return one.flag == word; });
  (is_there || is_of_toolkit(name) ? ignored : flags.libraries).push_back(word);
}

}  // namespace

// The value of a flag that takes one: behind `=`, at once behind a short one, or the next word.
bool take_value(const std::vector<std::string>& words, std::size_t& at,
                std::initializer_list<std::string_view> names, std::string& value) {
  for (const std::string_view name : names) {
    const std::string& word = words[at];
    if (!word.starts_with(name)) continue;
    if (word.size() > name.size()) {
      const bool equals = word[name.size()] == '=';
      if (!equals && name.size() > 2) continue;  // another flag that begins like it
      value = word.substr(name.size() + (equals ? 1 : 0));
    } else if (at + 1 < words.size()) {
      value = words[++at];
    } else {
      throw Error(ErrorKind::usage, fmt::format("{} needs a value", word));
    }
    return true;
  }
  return false;
}

namespace {

bool is_ignored(const std::vector<std::string>& words, std::size_t& at) {
  const std::string& word = words[at];
  for (const Ignored& one : kIgnored) {
    if (word == one.flag) {
      if (one.value) ++at;
      return true;
    }
    const bool long_name = one.flag.size() > 2;
    if (one.prefix && word.starts_with(one.flag) && (!long_name || word[one.flag.size()] == '=')) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool take_nvcc_flag(const std::vector<std::string>& words, std::size_t& at, CompilerFlags& flags,
                    std::vector<std::string>& ignored) {
  const std::string word = words[at];
  std::string value;
  if (take_value(words, at, {"--std", "-std"}, value)) {
    if (one_of(value, {"c++03", "c++11", "c++14", "gnu++11", "gnu++14"})) {
      ignored.push_back(word);  // what is right in them is so in C++17
    } else {
      flags.standard = value.starts_with("c++") ? "gnu" + value.substr(1) : value;
    }
  } else if (take_value(words, at, {"-I", "--include-path", "-isystem", "--system-include"},
                        value)) {
    flags.folders.push_back(value);
  } else if (take_value(words, at, {"-D", "--define-macro"}, value)) {
    flags.definitions.push_back(value);
  } else if (take_value(words, at, {"-U", "--undefine-macro"}, value)) {
    flags.passed_on.push_back("-U" + value);
  } else if (take_value(words, at, {"-include", "--pre-include"}, value)) {
    flags.passed_on.insert(flags.passed_on.end(), {"-include", value});
  } else if (take_value(words, at, {"-Xcompiler", "--compiler-options"}, value)) {
    take_host_options(value, flags, ignored);
  } else if (one_of(word, {"-fopenmp", "-fPIC", "-pthread"})) {
    take_host_options(word, flags, ignored);
  } else if (take_value(words, at, {"-Xlinker", "--linker-options"}, value)) {
    flags.libraries.push_back("-Wl," + value);
  } else if (word.starts_with("-Wl,") || word == "-rdynamic") {
    flags.libraries.push_back(word);
  } else if (is_ignored(words, at)) {
    ignored.push_back(word);
  } else if (take_value(words, at, {"-L", "--library-path"}, value)) {
    flags.libraries.push_back("-L" + value);
  } else if (take_value(words, at, {"-l", "--library"}, value)) {
    take_library(value, flags, ignored);
  } else {
    return false;
  }
  return true;
}

void tell_ignored(const std::vector<std::string>& ignored, const Tell& tell) {
  if (ignored.empty()) return;
  tell(fmt::format("these flags of nvcc change nothing in the lab: {}",
                   printable(fmt::format("{}", fmt::join(ignored, ", ")))));
}

void take_nvcc_flags(std::vector<std::string>& words, LabRun& run) {
  std::vector<std::string> ignored;
  std::size_t at = 0;
  for (; at < words.size() && words[at].starts_with('-') && words[at].size() > 1; ++at) {
    const std::string word = words[at];
    std::string value;
    if (word == "--") break;
    if (take_value(words, at, {"-o", "--output-file"}, value)) {
      ignored.push_back(word);
    } else if (!take_nvcc_flag(words, at, run, ignored)) {
      break;
    }
  }
  tell_ignored(ignored, run.tell);
  words.erase(words.begin(),
              words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size())));
}

}  // namespace weft::lab
