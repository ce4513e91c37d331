// SPDX-License-Identifier: MIT
// Vets JSON text from a file before a tree is built from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::models {

struct JsonLimits {
  int depth = 8;
  std::int64_t values = 1'000'000;
};

// Throws Error{data}, prefixed by `where`, when the text is not one JSON value in UTF-8, repeats a
// key within an object, nests deeper or holds more values than the limits.
void check_json(std::string_view text, const JsonLimits& limits, const std::string& where);

}  // namespace weft::models
