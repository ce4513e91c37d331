// SPDX-License-Identifier: MIT
// Characters as UTF-8.
#pragma once

#include <cstdint>
#include <string>

#include "data/files/gzip.h"

namespace weft::data {

// `code` is at most 0x10ffff. A surrogate is written as any other code.
void append_utf8(std::string& text, std::uint32_t code);

// A text in UTF-16 that begins with a byte order mark, as Excel and PowerShell write it, in UTF-8;
// any other text as it is. An odd byte at the end is left out.
Bytes from_utf16(Bytes text);

}  // namespace weft::data
