// SPDX-License-Identifier: MIT
#include "lab/translate/rewrite.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "lab/ptx/ptx.h"
#include "lab/translate/unsupported.h"

namespace weft::lab {
namespace {

constexpr std::string_view kLab = "::weft::host_cuda::lab::";

// A text as a string literal, in one line.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

// As many line ends as the text has, those of a macro too: what replaces it must not move the lines
// behind it.
std::string line_ends(std::string_view text) {
  std::string ends;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') ends += i > 0 && text[i - 1] == '\\' ? "\\\n" : "\n";
  }
  return ends;
}

// The rules for one list of tokens.
class Rewriter {
 public:
  Rewriter(std::string_view source, const TokenView& code, bool in_macro,
           const KernelNames& kernels, Rewriting& result)
      : source_(source), code_(code), in_macro_(in_macro), kernels_(kernels), result_(result) {}

  void run() {
    for (std::size_t i = 0; i < code_.size(); ++i) {
      const std::string_view word = code_.text(i);
      if (word == "{") {
        scopes_.push_back(opens_namespace(i));
      } else if (word == "}") {
        if (!scopes_.empty()) scopes_.pop_back();
      } else if (const std::size_t behind = behind_launch_bracket(i); behind != i) {
        launch(i, behind);
      } else if (word == "extern") {
        if (code_.text(i + 1) == "\"C\"" &&
            one_of(code_.text(i + 2), {"__global__", "__device__"})) {
          replace(i, i + 2, "");  // else its __shared__ variables had names without its own
        } else {
          dynamic_shared(i);
        }
      } else if (word == "static") {
        if (declared_with(i, {"__shared__"})) replace(i, i + 1, "");  // it is static by itself
      } else if (word == "__device__" || word == "__managed__") {
        device_variable(i);
      } else if (word == "__constant__") {
        constant(i);
      } else if (word == "__noinline__") {
        replace(i, i + 1, "__attribute__((noinline))");
      } else if (word == "alignas" && i > 0 && code_.is(i - 1, "__shared__")) {
        aligned(i);
      } else if (word == "asm" || word == "__asm__" || word == "__asm") {
        assembly(i);
      } else if (word == "(") {
        kernel_as_void(i);
      } else if (word == "\\") {
        replace(i, i + 1, " ");  // nvcc takes one in front of a comment
      }
      if (code_.is_word(i)) check_word(i);
    }
  }

 private:
  std::size_t begin_of(std::size_t i) const { return code_[i].begin; }
  std::string_view between(std::size_t first, std::size_t last) const {  // tokens [first, last)
    if (first >= last) return {};
    return source_.substr(begin_of(first), code_[last - 1].end - begin_of(first));
  }
  void insert(std::size_t at, std::string text) {
    result_.edits.push_back({at, 0, std::move(text)});
  }
  // By one line, with the old text's line ends behind it.
  void replace(std::size_t first, std::size_t last, std::string text) {
    const std::string_view old = between(first, last);
    std::replace(text.begin(), text.end(), '\n', ' ');
    result_.edits.push_back({begin_of(first), old.size(), text + line_ends(old)});
  }
  // What an #if may leave out is the compiler's to refuse.
  void refuse(std::size_t i, std::string reason) {
    if (code_[i].conditional) return;
    result_.refusals.push_back({code_[i].line, std::move(reason)});
  }

  // Declarations inside of these braces are global.
  bool opens_namespace(std::size_t i) const {
    for (std::size_t back = 1; back <= 6 && back <= i; ++back) {
      const std::string_view word = code_.text(i - back);
      if (word == "namespace" || (word.starts_with('"') && code_.is(i - back - 1, "extern"))) {
        return true;
      }
      if (!code_.is_word(i - back) && word != "::") return false;
    }
    return false;
  }
  bool in_function() const { return std::count(scopes_.begin(), scopes_.end(), false) > 0; }

  // The first token of the expression that ends before `i`: a::b<c>, x[1], (*f), p->g.
  std::size_t postfix_begin(std::size_t i) const {
    std::size_t at = i;
    while (at > 0) {
      if (one_of(code_.text(at - 1), {">", ")", "]"})) {
        const std::size_t open = code_.opening_bracket(at - 1);
        if (open >= code_.size()) return at;
        const bool goes_on =
            code_.is_word(open - 1) || one_of(code_.text(open - 1), {"]", ")", ">"});
        at = open;
        if (open == 0 || !goes_on) return at;
        continue;
      }
      if (!code_.is_word(at - 1)) return at;
      --at;
      if (at > 0 && code_.is(at - 1, "template")) --at;
      if (at == 0 || !one_of(code_.text(at - 1), {"::", ".", "->"})) return at;
      --at;
      if (at == 0 || (!code_.is_word(at - 1) && !one_of(code_.text(at - 1), {">", "]", ")"}))) {
        return at;
      }
    }
    return at;
  }

  // Behind the `<<<` at `i`, or `i` when there is none. Visual Studio writes `<< <`.
  std::size_t behind_launch_bracket(std::size_t i) const {
    if (code_.is(i, "<<<")) return i + 1;
    const bool three = code_.is(i, "<") && code_.is(i + 1, "<") && code_.is(i + 2, "<");
    return three && i > 0 && !code_.is(i - 1, "operator") ? i + 3 : i;
  }

  // The `>>>` of the launch whose `<<<` ends before `behind`.
  std::size_t end_of_launch(std::size_t behind) const {
    for (std::size_t at = behind; at < code_.size();) {
      if (one_of(code_.text(at), {"(", "[", "{"})) {
        at = code_.behind_bracket(at);
        continue;
      }
      if (one_of(code_.text(at), {";", "}", ")"})) break;
      if (code_.is(at, ">") && code_.is(at + 1, ">") && code_.is(at + 2, ">") &&
          code_.is(at + 3, "(")) {
        return at;
      }
      ++at;
    }
    return code_.size();
  }

  // kernel<<<grid, block>>>(arguments) becomes launching(kernel).with(grid, block)(arguments).
  void launch(std::size_t i, std::size_t behind) {
    const std::size_t begin = postfix_begin(i), end = end_of_launch(behind);
    if (begin == i || end == code_.size()) {
      return refuse(i, "this is no launch: expected kernel<<<grid, block>>>(arguments).");
    }
    std::size_t name = begin;  // the last word outside of template arguments
    for (std::size_t at = begin; at < i; ++at) {
      if (code_.is(at, "<")) {
        at = code_.behind_bracket(at) - 1;
      } else if (code_.is_word(at)) {
        name = at;
      }
    }
    const std::string_view kernel = between(begin, i);
    const bool is_one_of_several = !kernels_.templates.contains(code_.text(name)) &&
                                   kernels_.overloaded.contains(code_.text(name));
    const bool deduces = is_one_of_several || kernels_.templates.contains(code_.text(name)) ||
                         (kernels_.plain.contains(code_.text(name)) &&
                          kernels_.functions.contains(code_.text(name)));
    insert(begin_of(begin), std::string(kLab) +
                                (is_one_of_several ? "launching_one(" : "launching(") +
                                (deduces ? quoted(kernel) + ", [](auto&... weft_a) { " : ""));
    const std::string found = "(weft_a...); }, [](auto weft_as) -> decltype(weft_as(" +
                              std::string(kernel) + ")) { return weft_as(" + std::string(kernel) +
                              "); }).with(";
    replace(i, behind, deduces ? found : ").with(");
    replace(end, end + 3, ")");
  }

  // extern __shared__ T name[];
  void dynamic_shared(std::size_t i) {
    std::size_t end = i;
    while (end < code_.size() && !one_of(code_.text(end), {";", "{", "(", "="})) {
      if (is_attribute(code_.text(end)) && code_.is(end + 1, "(")) {
        end = code_.behind_bracket(end + 1);
      } else {
        ++end;
      }
    }
    std::size_t first_bracket = i, shared = code_.size();
    while (first_bracket < end && !code_.is(first_bracket, "[")) {
      if (code_.is(first_bracket, "__shared__")) shared = first_bracket;
      ++first_bracket;
    }
    if (shared == code_.size() && code_.is(i - 1, "__shared__")) shared = i - 1;
    if (shared == code_.size() || !code_.is(end, ";")) return;
    const std::size_t name = first_bracket - 1;
    bool several = false;
    for (std::size_t at = name; at < end; ++at) several = several || code_.is(at, ",");
    if (first_bracket == end || several) {
      return refuse(i,
                    "dynamic shared memory is declared as `extern __shared__ T name[];`, one "
                    "name in a declaration.");
    }
    std::string type;
    for (std::size_t at = i + 1; at < name; ++at) {
      if (code_.is(at, "__shared__")) continue;
      if (is_attribute(code_.text(at)) && code_.is(at + 1, "(")) {
        at = code_.behind_bracket(at + 1) - 1;
        continue;
      }
      type += std::string(code_.text(at)) + " ";
    }
    const std::string array(between(first_bracket, end)), variable(code_.text(name));
    const std::size_t begin = std::min(i, shared);
    if (in_function()) {
      replace(begin, end,
              "auto& " + variable + " = *static_cast<" + type + "(*)" + array +
                  ">(::weft::host_cuda::dynamic_shared())");
    } else {
      replace(begin, end, "");
      global_shared_[variable] =
          "(*static_cast<" + type + "(*)" + array + ">(::weft::host_cuda::dynamic_shared()))";
    }
  }

  // Is the declaration that goes on behind `i` one of a variable? `initial`: with a value.
  bool declares_variable(std::size_t i, bool& initial) const {
    initial = false;
    for (std::size_t at = i + 1; at < code_.size(); ++at) {
      const std::string_view word = code_.text(at);
      if (word == "operator") return false;
      if (is_attribute(word) && code_.is(at + 1, "(")) {
        at = code_.behind_bracket(at + 1) - 1;
      } else if (word == "(") {
        if (!code_.is(at + 1, "*")) return false;
        at = code_.behind_bracket(at) - 1;  // a pointer to a function, or to an array
        if (code_.is(at + 1, "(")) at = code_.behind_bracket(at + 1) - 1;
      } else if (word == "=" || word == "{") {
        initial = true;
        return true;
      } else if (word == "[") {
        at = code_.behind_bracket(at) - 1;
      } else if (word == ";") {
        return true;
      } else if (word == "}" || word == ")" || word == ":") {
        return false;
      }
    }
    return false;
  }
  // Does the declaration around `i` have this word before its name's initial value?
  bool declared_with(std::size_t i, std::initializer_list<std::string_view> words) const {
    std::size_t begin = i;
    while (begin > 0 && !one_of(code_.text(begin - 1), {";", "}", "{"})) --begin;
    for (std::size_t at = begin; at < code_.size(); ++at) {
      if (one_of(code_.text(at), {";", "{", "=", "["})) return false;
      if (one_of(code_.text(at), words)) return true;
    }
    return false;
  }

  // __device__ and __managed__ variables go where the runtime finds them.
  void device_variable(std::size_t i) {
    bool initial = false;
    const bool managed = code_.is(i, "__managed__");
    if (!declares_variable(i, initial) || in_function()) return;
    if (!managed && declared_with(i, {"__managed__", "__constant__", "const", "constexpr"})) return;
    const std::string name = managed ? "weft_managed" : "weft_device";
    insert(code_[i].end,
           " __attribute__((section(\"" + (initial ? name : ".bss." + name) + "\")))");
  }
  // A constant that is const has a place of its own, or it would make weft_constant read-only.
  void constant(std::size_t i) {
    if (declared_with(i, {"const", "constexpr"})) replace(i, i + 1, "");
  }

  // __shared__ alignas(16) float x[8]: g++ takes it only in front of all.
  void aligned(std::size_t i) {
    const std::size_t end = code_.behind_bracket(i + 1);
    const std::string to(between(i + 2, end - 1));
    const bool is_type = code_.is_word(i + 2) && end == i + 4 && std::isdigit(to.back()) != 0;
    replace(i, end, "__attribute__((aligned(" + (is_type ? "alignof(" + to + ")" : to) + ")))");
  }

  void assembly(std::size_t i) {
    if (!one_of(code_.text(i + 1), {"(", "volatile", "__volatile__"})) return;
    const PtxStatement statement = translate_ptx(source_, code_, i);
    if (!statement.refusal.empty()) return refuse(i, statement.refusal);
    replace(i, statement.end, statement.text);
  }

  // (void*)kernel keeps its type for a function of CUDA's. Elsewhere the type is remembered with
  // the address, by which a program may launch it later.
  void kernel_as_void(std::size_t i) {
    const bool named = i > 0 && code_.is(i - 1, ">");  // reinterpret_cast<void*>(
    std::size_t begin = i + 1;
    if (named) {
      const std::size_t open = code_.opening_bracket(i - 1);
      if (open == 0 || open >= code_.size() || !code_.is(open - 1, "reinterpret_cast")) return;
      begin = open + 1;
    }
    std::size_t at = begin + (code_.is(begin, "const") ? 1 : 0);
    if (!code_.is(at, "void") || !code_.is(at + 1, "*") || !code_.is(at + 2, named ? ">" : ")")) {
      return;
    }
    at += named ? 4 : 3;
    const std::size_t name = code_.is(at, "&") ? at + 1 : at;
    if (!kernels_.plain.contains(code_.text(name)) &&
        !kernels_.templates.contains(code_.text(name))) {
      return;
    }
    if (!named && called_function(i).starts_with("cuda")) return replace(i, at, "");
    const std::size_t end = code_.is(name + 1, "<") ? code_.behind_bracket(name + 1) : name + 1;
    insert(begin_of(at), std::string(kLab) + "remembered(");
    insert(code_[end - 1].end, ")");
  }

  // The function of whose call the token at `i` is an argument; or nothing.
  std::string_view called_function(std::size_t i) const {
    int closed = 0;
    for (std::size_t at = i; at-- > 1 && !one_of(code_.text(at), {";", "{", "}"});) {
      if (code_.is(at, ")")) ++closed;
      if (code_.is(at, "(") && closed-- == 0) return code_.text(at - 1);
    }
    return "";
  }

  void check_word(std::size_t i) {
    const auto shared = global_shared_.find(code_.text(i));
    if (shared != global_shared_.end() && is_use(i)) replace(i, i + 1, shared->second);
    if (in_macro_) return;  // which a program may never use
    const std::string_view before = i > 0 ? code_.text(i - 1) : "";
    const bool used = before != "." && before != "->" && !code_.is_word(i - 1);
    if (!used && before != "return") return;
    const std::string reason = why_unsupported(code_.text(i), code_.text(i + 1));
    if (!reason.empty()) refuse(i, reason);
  }

  std::string_view source_;
  const TokenView& code_;
  bool in_macro_;
  const KernelNames& kernels_;
  Rewriting& result_;
  // A word that is no member and is not being declared.
  bool is_use(std::size_t i) const {
    const std::string_view before = code_.text(i - 1);
    return !one_of(before, {".", "->", "::"}) &&
           (!code_.is_word(i - 1) || one_of(before, {"return", "else", "sizeof", "case"}));
  }

  std::map<std::string, std::string, std::less<>> global_shared_;  // declared outside of functions
  std::vector<bool> scopes_;                                       // open braces: of a namespace?
};

}  // namespace

void rewrite(std::string_view source, const Tokens& tokens, const KernelNames& kernels,
             Rewriting& result) {
  Rewriter(source, {source, tokens.code}, false, kernels, result).run();
  for (const std::vector<Token>& directive : tokens.directives) {
    Rewriter(source, {source, directive}, true, kernels, result).run();
  }
}

std::string applied(std::string_view source, std::vector<Edit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string out;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < at) continue;  // within a piece that was replaced
    out += source.substr(at, edit.begin - at);
    out += edit.text;
    at = edit.begin + edit.length;
  }
  return out.append(source.substr(at));
}

}  // namespace weft::lab
