// SPDX-License-Identifier: MIT
// What nvcc's flags mean to the lab.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/error.h"
#include "engine/text.h"
#include "lab/compile/compile.h"
#include "lab/translate/tokens.h"

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
    Ignored{"-g"},
    Ignored{"-G"},
    Ignored{"--debug"},
    Ignored{"--device-debug"},
    Ignored{"-lineinfo"},
    Ignored{"--generate-line-info"},
    Ignored{"-arch", true, true},
    Ignored{"--gpu-architecture", true, true},
    Ignored{"-code", true, true},
    Ignored{"--gpu-code", true, true},
    Ignored{"-gencode", true, true},
    Ignored{"--generate-code", true, true},
    Ignored{"-rdc", true, true},
    Ignored{"--relocatable-device-code", true, true},
    Ignored{"-use_fast_math"},
    Ignored{"--use_fast_math"},
    Ignored{"-fmad", true, true},
    Ignored{"--fmad", true, true},
    Ignored{"-maxrregcount", true, true},
    Ignored{"--maxrregcount", true, true},
    Ignored{"-Xptxas", true, true},
    Ignored{"--ptxas-options", true, true},
    Ignored{"-Xlinker", true, true},
    Ignored{"-m64"},
    Ignored{"-x", true},
    Ignored{"-ccbin", true, true},
    Ignored{"--compiler-bindir", true, true},
    Ignored{"-w"},
    Ignored{"-Wno-deprecated-gpu-targets"},
    Ignored{"--expt-relaxed-constexpr"},
    Ignored{"-expt-relaxed-constexpr"},
    Ignored{"--expt-extended-lambda"},
    Ignored{"-expt-extended-lambda"},
    Ignored{"--extended-lambda"},
    Ignored{"-extended-lambda"},
    Ignored{"-cudart", true, true},
    Ignored{"--cudart", true, true},
    Ignored{"-t", true, true},
    Ignored{"--threads", true, true},
    Ignored{"-L", true, true},
    Ignored{"-lm"},
    Ignored{"-lpthread"},
    Ignored{"-lrt"},
    Ignored{"-ldl"},
    Ignored{"-lgomp"},
    Ignored{"-lcudart"},
    Ignored{"-lcudart_static"},
    Ignored{"-lcuda"},
    Ignored{"-lcudadevrt"},
    Ignored{"-lstdc++"},
    Ignored{"-lnvToolsExt"},
};

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

void take_nvcc_flags(std::vector<std::string>& words, LabRun& run) {
  std::string ignored;
  std::size_t at = 0;
  for (; at < words.size() && words[at].starts_with('-') && words[at].size() > 1; ++at) {
    const std::string word = words[at];
    std::string value;
    if (word == "--") break;
    if (take_value(words, at, {"--std", "-std"}, value)) {
      if (one_of(value, {"c++03", "c++11", "c++14", "gnu++11", "gnu++14"})) {
        ignored += (ignored.empty() ? "" : ", ") + word;  // what is right in them is so in C++17
      } else {
        run.standard = value.starts_with("c++") ? "gnu" + value.substr(1) : value;
      }
    } else if (take_value(words, at, {"-I", "--include-path"}, value)) {
      run.folders.push_back(value);
    } else if (take_value(words, at, {"-D", "--define-macro"}, value)) {
      run.definitions.push_back(value);
    } else if (take_value(words, at, {"-o", "--output-file"}, value)) {
      ignored += (ignored.empty() ? "" : ", ") + word;
    } else if (take_value(words, at, {"-Xcompiler", "--compiler-options"}, value) ||
               word == "-fopenmp") {
      const std::string& option = word == "-fopenmp" ? word : value;
      if (option.find("-fopenmp") != std::string::npos) {
        run.openmp = true;
      } else {
        ignored += (ignored.empty() ? "" : ", ") + option;
      }
    } else if (is_ignored(words, at)) {
      ignored += (ignored.empty() ? "" : ", ") + word;
    } else {
      break;
    }
  }
  if (!ignored.empty()) {
    run.tell(fmt::format("these flags of nvcc change nothing in the lab: {}", printable(ignored)));
  }
  words.erase(words.begin(),
              words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size())));
}

}  // namespace weft::lab
