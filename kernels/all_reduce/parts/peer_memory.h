// SPDX-License-Identifier: MIT
// How the exchange memory of a rank is laid out. Plain C++, for host and device.
//
//   calls   (kAllReduceBlocks,)                   the number of the last call, for each block
//   flags   (kAllReduceBlocks, kMaxPeers)         flag (b, r): the last call in which block b of
//                                                 rank r has filled its part of r's slot
//   slots   (2, slot_floats)                      this rank's values
//   words   (2, kMaxPeers, word_count)            tagged words: those that rank r has sent here
//
// Calls count from 1 and are counted alike on all ranks. Call c uses half c % 2 of slots and words.
// Why two are enough: a rank that is in call c has heard of all ranks in call c - 1, so all of them
// have left call c - 2, and nobody reads its half any more.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/extent.h"
#include "kernels/all_reduce/all_reduce.h"

namespace weft::kernels::peers {

using Word = unsigned long long;

constexpr std::size_t kFlagsAt = sizeof(Word) * kAllReduceBlocks;
constexpr std::size_t kSlotsAt = kFlagsAt + sizeof(Word) * kAllReduceBlocks * kMaxPeers;

WEFT_HOST_DEVICE constexpr std::int64_t slot_floats(std::int64_t capacity) {
  return round_up(capacity, std::int64_t{64});
}
WEFT_HOST_DEVICE constexpr std::int64_t word_count(std::int64_t capacity) {
  return slot_floats(capacity < kMostTaggedWords ? capacity : kMostTaggedWords);
}
constexpr std::size_t bytes(std::int64_t capacity) {
  return kSlotsAt + 2 * sizeof(float) * static_cast<std::size_t>(slot_floats(capacity)) +
         2 * sizeof(Word) * kMaxPeers * static_cast<std::size_t>(word_count(capacity));
}

WEFT_HOST_DEVICE inline Word* calls_in(void* memory) {
  return static_cast<Word*>(memory);
}
WEFT_HOST_DEVICE inline Word* flag_in(void* memory, int block, int rank) {
  return reinterpret_cast<Word*>(static_cast<char*>(memory) + kFlagsAt) + block * kMaxPeers + rank;
}
WEFT_HOST_DEVICE inline float* slot_in(void* memory, std::int64_t capacity, Word call) {
  return reinterpret_cast<float*>(static_cast<char*>(memory) + kSlotsAt) +
         static_cast<std::int64_t>(call % 2) * slot_floats(capacity);
}
// The words that rank `from` sends to the owner of this memory.
WEFT_HOST_DEVICE inline Word* words_in(void* memory, std::int64_t capacity, Word call, int from) {
  return reinterpret_cast<Word*>(slot_in(memory, capacity, 0) + 2 * slot_floats(capacity)) +
         (static_cast<std::int64_t>(call % 2) * kMaxPeers + from) * word_count(capacity);
}

}  // namespace weft::kernels::peers
