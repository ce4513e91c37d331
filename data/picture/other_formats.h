// SPDX-License-Identifier: MIT
// Formats that Weft does not read, so that a refusal can name them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace weft::data {

// "this is JPEG XL, which is not read: save it as JPEG or PNG" for the first bytes of a picture, a
// film or a document of such a format; "" for anything else.
std::string refusal_of_format(std::span<const std::uint8_t> bytes);

}  // namespace weft::data
