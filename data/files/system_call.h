// SPDX-License-Identifier: MIT
// What every use of the system's files needs: calls that a signal does not end, and their errors.
#pragma once

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "engine/error.h"

namespace weft::data {

// Calls again as long as a signal comes in between.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Throws Error{data}: "could not WHAT PATH: REASON".
[[noreturn]] inline void fail_to(std::string_view what, const std::filesystem::path& path,
                                 int code) {
  throw Error(ErrorKind::data, str("could not ", what, " ", path.string(), ": ",
                                   std::system_category().message(code)));
}

}  // namespace weft::data
