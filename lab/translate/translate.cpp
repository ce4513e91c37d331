// SPDX-License-Identifier: MIT
#include "lab/translate/translate.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "engine/error.h"
#include "engine/text.h"
#include "lab/translate/host_calls.h"
#include "lab/translate/main_function.h"
#include "lab/translate/rewrite.h"
#include "lab/translate/unsupported.h"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;

struct Source {
  fs::path path;
  std::string text;
  Tokens tokens;
  std::vector<std::size_t> included;  // for each include, the number of its source, or kNone
};
constexpr std::size_t kNone = SIZE_MAX;

[[noreturn]] void fail(const fs::path& path, const char* what) {
  throw Error(ErrorKind::data, fmt::format("{}: {}", printable(path.string()), what));
}

// Is it there, and something that can keep its reader waiting, or never ends?
bool is_no_text(const fs::path& path) {
  return fs::exists(path) && !fs::is_regular_file(path) && !fs::is_directory(path);
}

// A folder of the system's headers, or of a CUDA toolkit's, is not the program's own.
bool is_of_the_system(const fs::path& folder) {
  return fs::absolute(folder).lexically_normal().string().starts_with("/usr/") ||
         fs::exists(folder / "cuda_runtime.h");
}

std::string read(const fs::path& path) {
  if (is_no_text(path)) fail(path, "is a pipe or a device, not a file");
  if (fs::is_directory(path)) fail(path, "this is a folder");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    fail(path, fs::exists(path) ? "cannot be read" : "no such file");
  }
  const std::string read = std::move(text).str();
  if (read.starts_with("\xff\xfe") || read.starts_with("\xfe\xff")) {
    fail(path, "is in UTF-16, which compilers do not read: save it as UTF-8");
  }
  return std::string(without_byte_order_mark(read));
}

// The sources that are reached from the program by includes of its own headers.
class Reader {
 public:
  explicit Reader(const std::vector<std::string>& folders) : folders_(folders) {}

  std::vector<Source> run(const std::vector<fs::path>& program) {
    for (const fs::path& one : program) sources_.push_back({one, read(one), {}, {}});
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      sources_[i].tokens = tokenize(sources_[i].text);
      const std::vector<Include> includes = sources_[i].tokens.includes;
      for (const Include& include : includes) {
        const std::size_t number = find(sources_[i].path.parent_path(), include);
        sources_[i].included.push_back(number);
      }
    }
    return std::move(sources_);
  }

 private:
  std::size_t find(const fs::path& beside, const Include& include) {
    std::vector<fs::path> places = {beside};
    places.insert(places.end(), folders_.begin(), folders_.end());
    for (const fs::path& place : places) {
      const fs::path path = (place / include.name).lexically_normal();
      if (is_no_text(path))
        fail(path, "is a pipe or a device, not a file");  // the compiler reads on
      const bool searched = include.quoted || (place != beside && !is_of_the_system(place));
      if (!searched || !fs::is_regular_file(path)) continue;
      for (std::size_t i = 0; i < sources_.size(); ++i) {
        if (sources_[i].path == path) return i;
      }
      sources_.push_back({path, read(path), {}, {}});
      return sources_.size() - 1;
    }
    return kNone;
  }

  const std::vector<std::string>& folders_;
  std::vector<Source> sources_;
};

[[noreturn]] void refuse(const Source& source, int line, const std::string& reason) {
  throw Error(ErrorKind::usage,
              fmt::format("{}:{}: {}", printable(source.path.string()), line, reason));
}

std::string escaped(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string translated(const Source& source, const KernelNames& kernels) {
  Rewriting rewriting;
  rewrite(source.text, source.tokens, kernels, rewriting);
  if (!rewriting.refusals.empty()) {
    refuse(source, rewriting.refusals.front().line, rewriting.refusals.front().reason);
  }
  complete_returns_of_main({source.text, source.tokens.code}, rewriting);
  for (std::size_t i = 0; i < source.included.size(); ++i) {
    const Include& include = source.tokens.includes[i];
    const std::string reason = why_unsupported_header(include.name);
    if (!reason.empty() && source.included[i] == kNone) {
      if (!include.conditional) refuse(source, include.line, reason);
      continue;  // the compiler says so, if it gets there
    }
    if (source.included[i] == kNone) {
      if (is_of_the_runtime(include.name)) {
        rewriting.edits.push_back({include.begin, include.end - include.begin, "<cuda_runtime.h>"});
      }
      continue;
    }
    rewriting.edits.push_back({include.begin, include.end - include.begin,
                               fmt::format("\"file-{}\"", source.included[i])});
  }
  return fmt::format("#line 1 \"{}\"\n{}\n", escaped(source.path.string()),
                     applied(source.text, std::move(rewriting.edits)));
}

// Behind the statement at `at`.
std::size_t behind_statement(const TokenView& code, std::size_t at) {
  while (one_of(code.text(at), {"for", "while", "if"})) at = code.behind_bracket(at + 1);
  if (code.is(at, "{")) return code.behind_bracket(at);
  while (at < code.size() && !code.is(at, ";")) ++at;
  return at;
}

// Does the program leave a parallel statement by `return`? OpenMP does not take that, and nvcc,
// which has no OpenMP unless it is told to, does.
bool returns_from_openmp(const Source& source) {
  const TokenView code(source.text, source.tokens.code);
  for (const std::vector<Token>& tokens : source.tokens.directives) {
    const TokenView words(source.text, tokens);
    const bool holds = one_of(words.text(2), {"parallel", "for", "sections", "section", "single",
                                              "critical", "master", "task", "simd"});
    if (!words.is(0, "pragma") || !words.is(1, "omp") || !holds) continue;
    std::size_t at = 0;
    while (at < code.size() && code[at].begin < tokens.back().end) ++at;
    const std::size_t end = behind_statement(code, at);
    for (; at < end; ++at) {
      const bool lambda = code.is(at, "]") && one_of(code.text(at + 1), {"(", "{"});
      if (lambda) at = code.is(at + 1, "(") ? code.behind_bracket(at + 1) : at + 1;
      if (lambda && code.is(at, "{")) at = code.behind_bracket(at) - 1;
      if (code.is(at, "return")) return true;
    }
  }
  return false;
}

bool has_openmp(const Source& source) {
  for (const Include& include : source.tokens.includes) {
    if (include.name == "omp.h") return true;
  }
  for (const std::vector<Token>& tokens : source.tokens.directives) {
    const TokenView words(source.text, tokens);
    if (words.is(0, "pragma") && words.is(1, "omp")) return true;
  }
  return false;
}

}  // namespace

Translation translate(const std::vector<fs::path>& program,
                      const std::vector<std::string>& folders) {
  const std::vector<Source> sources = Reader(folders).run(program);
  KernelNames kernels;
  for (const Source& source : sources) {
    collect_kernels({source.text, source.tokens.code}, kernels);
  }
  std::vector<SourceText> texts;
  for (const Source& source : sources) texts.push_back({source.text, &source.tokens});
  const std::vector<std::vector<Refusal>> host_calls = calls_of_host_functions(texts);
  Translation result;
  bool returns = false;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[i];
    result.has_main = result.has_main || has_main({source.text, source.tokens.code});
    result.has_openmp = result.has_openmp || has_openmp(source);
    returns = returns || returns_from_openmp(source);
    if (!host_calls[i].empty()) {
      refuse(source, host_calls[i].front().line, host_calls[i].front().reason);
    }
    for (std::size_t k = 0; k < source.included.size(); ++k) {
      const Include& include = source.tokens.includes[k];
      if (source.included[k] == kNone && include.quoted) result.missing.push_back(include.name);
    }
    result.files.push_back({source.path, translated(source, kernels)});
  }
  result.has_openmp = result.has_openmp && !returns;
  return result;
}

bool includes_cuda(const fs::path& source, const std::vector<std::string>& folders) {
  if (!fs::is_regular_file(source)) return false;
  try {
    for (const Source& one : Reader(folders).run({source})) {
      for (const Include& include : one.tokens.includes) {
        if (include.name == "cuda_runtime.h" || is_of_the_runtime(include.name)) return true;
      }
    }
  } catch (const Error&) {
    return false;
  }
  return false;
}

}  // namespace weft::lab
