// SPDX-License-Identifier: MIT
#include "models/fingerprint.h"

#include <cstring>

namespace weft::models {

namespace {

std::uint64_t mix(std::uint64_t hash, const std::vector<std::uint8_t>& bytes) {
  // FNV-1a over 64-bit words: a changed word always changes the sum.
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    hash = (hash ^ word) * 0x100000001b3ull;
    hash ^= hash >> 32;
  }
  for (; at < bytes.size(); ++at) hash = (hash ^ bytes[at]) * 0x100000001b3ull;
  return hash;
}

}  // namespace

DataFingerprint fingerprint_of(const data::Dataset& dataset) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const data::ImageSet* set : {&dataset.train, &dataset.test}) {
    hash = mix(mix(hash, set->images), set->labels);
  }
  return {dataset.train.count, dataset.test.count, hash};
}

}  // namespace weft::models
