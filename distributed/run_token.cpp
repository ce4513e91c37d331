// SPDX-License-Identifier: MIT
#include "distributed/run_token.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "distributed/socket.h"
#include "engine/error.h"

namespace weft::distributed {
namespace {

constexpr std::size_t kLeastText = 16;  // bytes

std::span<const std::uint8_t> as_octets(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Nonce draw_nonce() {
  Nonce nonce;
  ssize_t drawn = 0;
  do {
    drawn = getrandom(nonce.data(), nonce.size(), 0);  // up to 256 bytes come at once
  } while (drawn < 0 && errno == EINTR);
  if (drawn != static_cast<ssize_t>(nonce.size())) {
    throw Error(ErrorKind::device, str("the system gave no random numbers: ", error_text(errno)));
  }
  return nonce;
}

RunToken::RunToken(std::string_view text)
    : key_(data::sha256(as_octets(text))), is_given_(!text.empty()) {}

RunToken RunToken::from_text(std::string_view text) {
  if (text.size() < kLeastText) {
    throw Error(ErrorKind::usage, str("a run token has at least ", kLeastText,
                                      " characters, this one has ", text.size()));
  }
  return RunToken(text);
}

std::string RunToken::draw_text() {
  std::string text;
  for (const std::byte byte : draw_nonce()) {
    text += "0123456789abcdef"[std::to_integer<int>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<int>(byte) & 15];
  }
  return text;
}

Tag RunToken::tag(std::string_view label,
                  std::initializer_list<std::span<const std::byte>> parts) const {
  std::vector<std::uint8_t> message(label.begin(), label.end());
  message.push_back(0);
  for (const std::span<const std::byte> part : parts) {
    for (const std::byte byte : part) message.push_back(std::to_integer<std::uint8_t>(byte));
  }
  return data::hmac_sha256(key_, message);
}

bool are_same(const Tag& a, const Tag& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= unsigned{a[i]} ^ b[i];
  return difference == 0;
}

}  // namespace weft::distributed
