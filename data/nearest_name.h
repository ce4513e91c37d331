// SPDX-License-Identifier: MIT
// "Did you mean ...?" for misspelt names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft::data {

// The one of `names` with the smallest edit distance to `text`, or "" when none is close (more than
// a third of its letters differ, and more than two).
std::string nearest_name(std::string_view text, std::span<const std::string_view> names);

}  // namespace weft::data
