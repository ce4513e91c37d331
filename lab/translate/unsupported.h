// SPDX-License-Identifier: MIT
// What the lab knows of CUDA and does not do, and what of it stands elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace weft::lab {

// A sentence; empty when the word, with `next` behind it, is none of these.
std::string why_unsupported(std::string_view word, std::string_view next);
// Likewise for a header.
std::string why_unsupported_header(std::string_view name);
// Has cuda_runtime.h all of what this header of a toolkit has?
bool is_of_the_runtime(std::string_view header);

}  // namespace weft::lab
