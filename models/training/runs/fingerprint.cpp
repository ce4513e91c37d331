// SPDX-License-Identifier: MIT
#include "models/training/runs/fingerprint.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace weft::models {

namespace {

std::uint64_t mix(std::uint64_t hash, std::span<const std::uint8_t> bytes) {
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

// One byte for each label where that is enough, as in the runs of older versions; else four.
std::vector<std::uint8_t> bytes_of(const std::vector<std::int32_t>& labels) {
  const bool wide = std::ranges::any_of(labels, [](std::int32_t label) { return label > 255; });
  std::vector<std::uint8_t> bytes;
  bytes.reserve(labels.size() * (wide ? 4 : 1));
  for (const std::int32_t label : labels) {
    for (int shift = 0; shift < (wide ? 32 : 8); shift += 8) {
      bytes.push_back(static_cast<std::uint8_t>(label >> shift));
    }
  }
  return bytes;
}

}  // namespace

DataFingerprint fingerprint_of(const data::Dataset& dataset) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const data::ImageSet* set :
       {&dataset.train, &dataset.test, &dataset.validation, &dataset.strangers}) {
    hash = mix(mix(hash, set->images), bytes_of(set->labels));
  }
  return {dataset.train.count, dataset.test.count, hash};
}

}  // namespace weft::models
