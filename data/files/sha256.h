// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4) of bytes in memory, and HMAC with it (RFC 2104).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace weft::data {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::span<const std::uint8_t> bytes);
Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> message);

std::string sha256_hex(std::span<const std::uint8_t> bytes);  // 64 lower-case hexadecimal digits

// The same without special instructions, so that a test can compare them on any machine.
std::string sha256_hex_portable(std::span<const std::uint8_t> bytes);

}  // namespace weft::data
