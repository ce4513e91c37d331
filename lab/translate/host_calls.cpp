// SPDX-License-Identifier: MIT
#include "lab/translate/host_calls.h"

#include <fmt/format.h>

#include <set>

namespace weft::lab {
namespace {

using Names = std::set<std::string, std::less<>>;

// Functions of the C library that programs call in kernels by mistake.
const Names kLibrary = {"rand",   "srand", "time",    "exit",   "fprintf", "fopen",  "fclose",
                        "fputs",  "scanf", "fscanf",  "sscanf", "getenv",  "system", "sleep",
                        "usleep", "qsort", "getchar", "atoi",   "atof"};

// Functions that the device has by itself, whatever a program's host has by the name.
const Names kOfTheDevice = {"abs",  "ceil",  "clock", "cos",    "exp",    "fabs",   "floor",
                            "fmax", "fmaxf", "fmin",  "fminf",  "free",   "isinf",  "isnan",
                            "log",  "max",   "min",   "malloc", "memcpy", "memset", "pow",
                            "powf", "round", "sin",   "sqrt",   "sqrtf",  "tan",    "tanh"};

struct Body {
  std::string name;                                // of the function
  std::size_t parameters = 0, begin = 0, end = 0;  // tokens
};

// What the declarations of one source say.
class Declarations {
 public:
  Declarations(const TokenView& code, const Names& macros, Names& device, Names& host)
      : code_(code), macros_(macros), device_(device), host_(host) {}

  // Returns the bodies of functions that are the device's alone.
  std::vector<Body> run() {
    std::size_t start = 0;  // of a declaration
    for (std::size_t i = 0; i < code_.size(); ++i) {
      const std::string_view word = code_.text(i);
      if (word == ";" || word == "}") {
        start = i + 1;
      } else if (word == "{") {
        const bool goes_in = one_of(code_.text(start), {"namespace", "inline", "extern", "struct",
                                                        "class", "union", "template"}) &&
                             code_.text(i - 1) != ")" && code_.text(i - 1) != "=";
        if (!goes_in) i = code_.behind_bracket(i) - 1;
        start = i + 1;
      } else if (word == "(" && is_attribute(code_.text(i - 1))) {
        i = code_.behind_bracket(i) - 1;
      } else if (word == "(" && i > start && code_.is_word(i - 1)) {
        i = function(start, i);
        start = i + 1;
      } else if (word == "=" || word == "[") {
        while (i + 1 < code_.size() && !one_of(code_.text(i + 1), {";", "{", "}"})) ++i;
      }
    }
    return std::move(bodies_);
  }

 private:
  // A declaration from `start` on with a "(" at `open`. Returns its last token.
  std::size_t function(std::size_t start, std::size_t open) {
    bool device = false, host = false, is_template = false, unsure = open - start < 2;
    for (std::size_t at = start; at + 1 < open; ++at) {
      const std::string_view word = code_.text(at);
      device = device || one_of(word, {"__device__", "__global__"});
      host = host || word == "__host__";
      is_template = is_template || word == "template";
      unsure = unsure || macros_.contains(word) ||
               one_of(word, {"constexpr", "consteval", "operator", "::", "=", "typedef", "using",
                             "friend", "virtual", ":", "~"});
    }
    std::size_t at = code_.behind_bracket(open);
    while (at < code_.size() && !one_of(code_.text(at), {";", "{", "}", "=", ","})) ++at;
    const std::string name(code_.text(open - 1));
    (device || unsure || is_template ? device_ : host_).insert(name);
    if (!code_.is(at, "{")) return at;
    const std::size_t end = code_.behind_bracket(at);
    if (device && !host && !unsure) bodies_.push_back({name, open, at, end});
    return end - 1;
  }

  const TokenView& code_;
  const Names& macros_;
  Names &device_, &host_;
  std::vector<Body> bodies_;
};

// The macros that a source defines.
void collect_macros(const SourceText& source, Names& names) {
  for (const std::vector<Token>& directive : source.tokens->directives) {
    const TokenView line(source.text, directive);
    for (std::size_t i = 0; i + 1 < line.size() && i < 2; ++i) {
      if (line.is(i, "define")) names.emplace(line.text(i + 1));
    }
  }
}

}  // namespace

std::vector<std::vector<Refusal>> calls_of_host_functions(const std::vector<SourceText>& sources) {
  Names macros, device, host;
  for (const SourceText& source : sources) collect_macros(source, macros);
  std::vector<std::vector<Body>> bodies;
  for (const SourceText& source : sources) {
    const TokenView code(source.text, source.tokens->code);
    bodies.push_back(Declarations(code, macros, device, host).run());
  }
  std::vector<std::vector<Refusal>> found(sources.size());
  for (std::size_t s = 0; s < sources.size(); ++s) {
    const TokenView code(sources[s].text, sources[s].tokens->code);
    for (const Body& body : bodies[s]) {
      Names local;  // parameters and variables of the name
      for (std::size_t i = body.parameters; i < body.begin; ++i) local.emplace(code.text(i));
      for (std::size_t i = body.begin; i < body.end; ++i) {
        if (!code.is_word(i)) continue;
        const std::string_view name = code.text(i), before = code.text(i - 1);
        const bool follows_type =
            code.is_word(i - 1) && !one_of(before, {"return", "else", "case", "do"});
        if (follows_type || one_of(before, {"*", "&", ">"})) {
          if (!code.is(i + 1, "(") || follows_type) local.emplace(name);
        }
        if (!code.is(i + 1, "(") || follows_type || one_of(before, {".", "->", "::"})) continue;
        const bool is_host = (host.contains(name) || kLibrary.contains(name)) &&
                             !device.contains(name) && !macros.contains(name) &&
                             !local.contains(name) && !kOfTheDevice.contains(name);
        if (!is_host) continue;
        found[s].push_back(
            {code[i].line, fmt::format("{}() is code of the device and calls {}(), which is the "
                                       "host's: make it a __device__ function.",
                                       body.name, name)});
      }
    }
  }
  return found;
}

}  // namespace weft::lab
