// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4), and HMAC with it (RFC 2104).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::data {

using Digest = std::array<std::uint8_t, 32>;

// The hash of bytes that come in parts.
class Sha256 {
 public:
  using State = std::array<std::uint32_t, 8>;
  using Compress = void (*)(State& state, const std::uint8_t* blocks, std::size_t count);

  Sha256();                            // by special instructions where the processor has them
  explicit Sha256(Compress compress);  // internal to sha256.cpp
  void add(std::span<const std::uint8_t> bytes);
  Digest digest() const;    // of all bytes so far
  std::string hex() const;  // 64 lower-case hexadecimal digits

 private:
  Compress compress_;
  State state_;
  std::array<std::uint8_t, 64> block_{};  // its first bytes_ % 64 bytes wait for the others
  std::uint64_t bytes_ = 0;
};

Digest sha256(std::span<const std::uint8_t> bytes);
Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> message);

std::string sha256_hex(std::span<const std::uint8_t> bytes);  // 64 lower-case hexadecimal digits

// The same without special instructions, so that a test can compare them on any machine.
std::string sha256_hex_portable(std::span<const std::uint8_t> bytes);

}  // namespace weft::data
