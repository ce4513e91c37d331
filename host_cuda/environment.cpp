// SPDX-License-Identifier: MIT
#include "host_cuda/environment.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "engine/error.h"

namespace weft::host_cuda {

int from_environment(const char* name, int otherwise, int most) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return otherwise;
  int count = 0;
  const char* const end = text + std::strlen(text);
  const auto [after, error] = std::from_chars(text, end, count);
  if (error != std::errc{} || after != end || count < 1 || count > most) {
    throw Error(ErrorKind::usage, str(name, ": expected a whole number from 1 to ", most));
  }
  return count;
}

}  // namespace weft::host_cuda
