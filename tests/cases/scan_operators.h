// SPDX-License-Identifier: MIT
// Associative operators that do not commute: a scan that swaps two operands gives another result.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/operators.h"
#include "tests/support/random.h"

namespace weft::test {

// The map t -> a t + b modulo 2^32; the operator applies the left map first.
struct Affine {
  std::uint32_t a, b;
};
struct Compose {
  static WEFT_OPERATOR Affine identity() { return {1, 0}; }
  WEFT_OPERATOR Affine operator()(const Affine& f, const Affine& g) const {
    return {f.a * g.a, f.b * g.a + g.b};
  }
};

// A 2 x 2 matrix modulo 2^32: 16 bytes, more than one machine word.
struct Matrix {
  std::uint32_t m[4];
};
struct Multiply {
  static WEFT_OPERATOR Matrix identity() { return {{1, 0, 0, 1}}; }
  WEFT_OPERATOR Matrix operator()(const Matrix& p, const Matrix& q) const {
    return {{p.m[0] * q.m[0] + p.m[1] * q.m[2], p.m[0] * q.m[1] + p.m[1] * q.m[3],
             p.m[2] * q.m[0] + p.m[3] * q.m[2], p.m[2] * q.m[1] + p.m[3] * q.m[3]}};
  }
};

// Elements of a struct of 4-byte words, as words and back; words are what test memory holds.
template <class T>
std::vector<std::int32_t> random_words(std::int64_t n, std::uint64_t seed) {
  std::vector<std::int32_t> words(static_cast<std::size_t>(n) * (sizeof(T) / 4));
  for (std::size_t i = 0; i < words.size(); ++i) {
    // Odd, so that no product ends in zero bits only.
    words[i] = static_cast<std::int32_t>(philox(seed, RandomStream::data, 2, i).value[0] | 1u);
  }
  return words;
}
template <class T>
std::vector<T> as_elements(const std::vector<std::int32_t>& words) {
  std::vector<T> elements(words.size() / (sizeof(T) / 4));
  std::memcpy(elements.data(), words.data(), words.size() * 4);
  return elements;
}

// The scan by one loop, as words.
template <class T, class Op>
std::vector<std::int32_t> scanned_words(const std::vector<std::int32_t>& words, bool exclusive,
                                        Op op) {
  std::vector<T> elements = as_elements<T>(words);
  T before = Op::identity();
  for (T& element : elements) {
    const T after = op(before, element);
    element = exclusive ? before : after;
    before = after;
  }
  std::vector<std::int32_t> result(words.size());
  std::memcpy(result.data(), elements.data(), words.size() * 4);
  return result;
}

}  // namespace weft::test
