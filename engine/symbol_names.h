// SPDX-License-Identifier: MIT
// The names of kernels and variables as their source has them.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <initializer_list>
#include <string>

namespace weft {

inline std::string demangled(const char* mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = text != nullptr ? text : mangled;
  std::free(text);
  return name;
}

// "void weft::(anonymous namespace)::naive<float>(float*)" becomes "naive<float>". `scopes` are
// left out of template arguments too. A lambda without captures is "{lambda}", wherever it stands.
inline std::string short_name(std::string name, std::initializer_list<std::string> scopes = {}) {
  const auto leave_out = [&name](const std::string& part) {
    for (std::size_t at; (at = name.find(part)) != std::string::npos;) name.erase(at, part.size());
  };
  for (const char* const called : {"}::_FUN(", "}::__invoke("}) {  // g++, clang
    if (name.find(called) != std::string::npos) return "{lambda}";
  }
  leave_out("(anonymous namespace)::");
  leave_out("void ");
  for (const std::string& scope : scopes) leave_out(scope);
  int depth = 0;  // of template arguments
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && depth == 0) {
      name.resize(i);
      break;
    }
  }
  const std::size_t scope = name.substr(0, name.find('<')).rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

}  // namespace weft
