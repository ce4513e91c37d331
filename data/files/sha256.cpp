// SPDX-License-Identifier: MIT
// SHA-256 as FIPS 180-4 section 6.2 defines it, with the x86 SHA instructions where the processor
// has them (about six times faster; the training images are 47 MB).
#include "data/files/sha256.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace weft::data {
namespace {

// First 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr std::size_t kBlock = 64;
using State = Sha256::State;

std::uint32_t load_big_endian(const std::uint8_t* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

void compress(State& state, const std::uint8_t* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t t = 0; t < 16; ++t) w[t] = load_big_endian(block + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t a = w[t - 15], b = w[t - 2];
    w[t] = w[t - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[t - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t choose = g ^ (e & (f ^ g));
    const std::uint32_t t1 = h + sum1 + choose + kRoundConstants[t] + w[t];
    const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t majority = (a & b) | (c & (a | b));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + sum0 + majority;
  }
  const State added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

void compress_portably(State& state, const std::uint8_t* blocks, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) compress(state, blocks + i * kBlock);
}

#if defined(__x86_64__)
__attribute__((target("sha,sse4.1"))) void compress_with_instructions(State& state,
                                                                      const std::uint8_t* blocks,
                                                                      std::size_t count) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // The instructions keep the state as (f, e, b, a) and (h, g, d, c), lowest lane first.
  const auto word = [&](std::size_t i) { return static_cast<int>(state[i]); };
  __m128i feba = _mm_set_epi32(word(0), word(1), word(4), word(5));
  __m128i hgdc = _mm_set_epi32(word(2), word(3), word(6), word(7));
  for (; count > 0; --count, blocks += kBlock) {
    const __m128i feba_before = feba, hgdc_before = hgdc;
    __m128i w[16];
    for (std::size_t i = 0; i < 16; ++i) {
      if (i < 4) {
        w[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks + 16 * i));
        w[i] = _mm_shuffle_epi8(w[i], big_endian);
      } else {
        const __m128i nine_back = _mm_alignr_epi8(w[i - 1], w[i - 2], 4);
        const __m128i partial = _mm_add_epi32(_mm_sha256msg1_epu32(w[i - 4], w[i - 3]), nine_back);
        w[i] = _mm_sha256msg2_epu32(partial, w[i - 1]);
      }
      const __m128i constants =
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(kRoundConstants.data() + 4 * i));
      const __m128i sum = _mm_add_epi32(w[i], constants);
      hgdc = _mm_sha256rnds2_epu32(hgdc, feba, sum);
      feba = _mm_sha256rnds2_epu32(feba, hgdc, _mm_shuffle_epi32(sum, 0x0e));
    }
    feba = _mm_add_epi32(feba, feba_before);
    hgdc = _mm_add_epi32(hgdc, hgdc_before);
  }
  const auto lane = [](__m128i v, int i) {
    std::array<std::uint32_t, 4> lanes;
    std::memcpy(lanes.data(), &v, sizeof v);
    return lanes[static_cast<std::size_t>(i)];
  };
  state = {lane(feba, 3), lane(feba, 2), lane(hgdc, 3), lane(hgdc, 2),
           lane(feba, 1), lane(feba, 0), lane(hgdc, 1), lane(hgdc, 0)};
}

bool has_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
  return sha && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3");
}
#endif

Sha256::Compress fastest_compress() {
#if defined(__x86_64__)
  if (has_instructions()) return compress_with_instructions;
#endif
  return compress_portably;
}

std::string hex_of(const Digest& digest) {
  std::string hex;
  for (const std::uint8_t byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

}  // namespace

Sha256::Sha256() : Sha256(fastest_compress()) {}

// First 32 bits of the fractional parts of the square roots of the first 8 primes.
Sha256::Sha256(Compress compress)
    : compress_(compress), state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::add(std::span<const std::uint8_t> bytes) {
  if (const std::size_t waiting = bytes_ % kBlock; waiting > 0) {
    const std::size_t taken = std::min(bytes.size(), kBlock - waiting);
    std::copy_n(bytes.begin(), taken, block_.begin() + static_cast<std::ptrdiff_t>(waiting));
    bytes_ += taken;
    bytes = bytes.subspan(taken);
    if (bytes_ % kBlock > 0) return;
    compress_(state_, block_.data(), 1);
  }
  const std::size_t blocks = bytes.size() / kBlock;
  compress_(state_, bytes.data(), blocks);
  std::ranges::copy(bytes.subspan(blocks * kBlock), block_.begin());
  bytes_ += bytes.size();
}

Digest Sha256::digest() const {
  // What waits, a one bit, zeros, and the length in bits: one block or two.
  std::array<std::uint8_t, 2 * kBlock> last{};
  const std::size_t rest = bytes_ % kBlock;
  std::copy_n(block_.begin(), rest, last.begin());
  last[rest] = 0x80;
  const std::size_t padded = rest + 9 <= kBlock ? kBlock : 2 * kBlock;
  const std::uint64_t bits = bytes_ * 8;
  for (std::size_t i = 0; i < 8; ++i) {
    last[padded - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
  }
  State state = state_;
  compress_(state, last.data(), padded / kBlock);
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

std::string Sha256::hex() const {
  return hex_of(digest());
}

Digest sha256(std::span<const std::uint8_t> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.digest();
}

Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> message) {
  std::array<std::uint8_t, kBlock> padded{};
  if (key.size() > kBlock) {
    std::ranges::copy(sha256(key), padded.begin());
  } else {
    std::ranges::copy(key, padded.begin());
  }
  const auto hash = [&](std::uint8_t pad, std::span<const std::uint8_t> text) {
    std::vector<std::uint8_t> bytes;
    for (const std::uint8_t byte : padded) bytes.push_back(byte ^ pad);
    bytes.insert(bytes.end(), text.begin(), text.end());
    return sha256(bytes);
  };
  return hash(0x5c, hash(0x36, message));
}

std::string sha256_hex(std::span<const std::uint8_t> bytes) {
  return hex_of(sha256(bytes));
}

std::string sha256_hex_portable(std::span<const std::uint8_t> bytes) {
  Sha256 hash(compress_portably);
  hash.add(bytes);
  return hash.hex();
}

}  // namespace weft::data
