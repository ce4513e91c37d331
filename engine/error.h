// SPDX-License-Identifier: MIT
// The one exception family of Weft.
//
// Every failure throws Error with a message that says what was expected, what was found and where.
// The kind decides the exit code of a program that lets it reach main().
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace weft {

// The numeric value of a kind is the process exit code (docs/exit-codes.md).
enum class ErrorKind {
  check_failed = 1,  // a verification did not hold (a diverged loss, a kernel that disagrees)
  usage = 2,         // a caller's argument, flag or shape is wrong
  data = 3,          // a file is missing, damaged or of the wrong kind
  device = 4,        // the GPU, its driver or its memory failed
};

// A line of the source, as std::source_location, which clang has only from version 15 on.
struct SourceLocation {
  const char* file;
  int line;

  // As a default argument, the place of the call.
  static constexpr SourceLocation here(const char* file = __builtin_FILE(),
                                       int line = __builtin_LINE()) {
    return {file, line};
  }
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, SourceLocation where = SourceLocation::here())
      : std::runtime_error(message), kind_(kind), where_(where) {}

  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }
  const SourceLocation& where() const { return where_; }  // for debuggers and tests

 private:
  ErrorKind kind_;
  SourceLocation where_;
};

// Memory that there is not, on a device or on the host.
class OutOfMemory : public Error {
 public:
  // where: "", or " on cuda:0".
  OutOfMemory(std::size_t bytes, const std::string& where,
              SourceLocation place = SourceLocation::here())
      : Error(ErrorKind::device,
              "out of memory: could not allocate " + std::to_string(bytes) + " bytes" + where,
              place) {}
};

// Concatenates its arguments as text: str("expected ", 3, ", found ", shape).
template <class... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace weft
