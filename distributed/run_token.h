// SPDX-License-Identifier: MIT
// The secret that the ranks of a run share. It is never sent: a rank proves that it knows it by an
// HMAC-SHA-256 (RFC 2104) of numbers that both sides have drawn for this one connection.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "data/files/sha256.h"

namespace weft::distributed {

// What a side draws anew for each connection, so that nothing of an earlier one can be repeated.
using Nonce = std::array<std::byte, 32>;
Nonce draw_nonce();  // from the system; throws device when it has none

using Tag = data::Digest;

class RunToken {
 public:
  RunToken() : RunToken(std::string_view()) {}  // none: whoever reaches the address may join
  // The key is the hash of the text, and the text is not kept.
  explicit RunToken(std::string_view text);

  // Throws usage when the text is shorter than 16 bytes, which is 128 bits.
  static RunToken from_text(std::string_view text);
  static std::string draw_text();  // 64 hexadecimal digits

  bool is_given() const { return is_given_; }

  // The proof for one message. `label` says which one it is, so that none stands for another.
  Tag tag(std::string_view label, std::initializer_list<std::span<const std::byte>> parts) const;

 private:
  data::Digest key_;
  bool is_given_;
};

// Takes the same time wherever the two differ.
bool are_same(const Tag& a, const Tag& b);

}  // namespace weft::distributed
