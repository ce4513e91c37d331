// SPDX-License-Identifier: MIT
// SHA-256 against the examples of FIPS 180 and against itself without special instructions.
#include "data/files/sha256.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace weft::data {
namespace {

struct Example {
  std::string text, hash;
};

const Example kExamples[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmno"
     "pqrsmnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    {std::string(1000000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(Sha256, PublishedExamples) {
  for (const Example& example : kExamples) {
    EXPECT_EQ(sha256_hex(bytes_of(example.text)), example.hash);
    EXPECT_EQ(sha256_hex_portable(bytes_of(example.text)), example.hash);
  }
}

// RFC 4231, test cases 1, 2 and 6: a key of 20 bytes, a short one, and one longer than a block.
TEST(Sha256, HmacOfPublishedExamples) {
  const auto hmac = [](const std::string& key, const std::string& message) {
    std::string hex;
    for (const std::uint8_t byte : hmac_sha256(bytes_of(key), bytes_of(message))) {
      hex += "0123456789abcdef"[byte >> 4];
      hex += "0123456789abcdef"[byte & 15];
    }
    return hex;
  };
  EXPECT_EQ(hmac(std::string(20, 0x0b), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Sha256, EveryLengthAroundTheBlockSize) {
  std::string text, previous;
  for (int n = 0; n < 200; ++n) {
    const std::string hash = sha256_hex(bytes_of(text));
    EXPECT_EQ(hash, sha256_hex_portable(bytes_of(text))) << n;
    EXPECT_NE(hash, previous) << n;
    previous = hash;
    text += static_cast<char>(n * 37);
  }
}

}  // namespace
}  // namespace weft::data
