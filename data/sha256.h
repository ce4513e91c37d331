// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4) of bytes in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace weft::data {

std::string sha256_hex(std::span<const std::uint8_t> bytes);  // 64 lower-case hexadecimal digits

// The same without special instructions, so that a test can compare them on any machine.
std::string sha256_hex_portable(std::span<const std::uint8_t> bytes);

}  // namespace weft::data
