// SPDX-License-Identifier: MIT
// Warp shuffles of any type made of 4-byte words, structs included. All 32 lanes must call them.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/device/warp.cuh"

namespace weft::kernels::device {

namespace detail {

template <class T, class Move>
__device__ __forceinline__ T move_words(T value, Move move) {
  static_assert(std::is_trivially_copyable_v<T>, "a shuffle copies bytes");
  static_assert(sizeof(T) % 4 == 0, "a shuffle moves words of 4 bytes");
  unsigned words[sizeof(T) / 4];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (unsigned& word : words) word = move(word);
  memcpy(&value, words, sizeof(T));
  return value;
}

}  // namespace detail

// The value of lane `lane`.
template <class T>
__device__ __forceinline__ T shuffle(T value, int lane) {
  return detail::move_words(value,
                            [=](unsigned word) { return __shfl_sync(kFullWarp, word, lane); });
}

// The value of the lane `delta` below; the lowest lanes keep their own.
template <class T>
__device__ __forceinline__ T shuffle_up(T value, int delta) {
  return detail::move_words(value,
                            [=](unsigned word) { return __shfl_up_sync(kFullWarp, word, delta); });
}

// The value of the lane `delta` above; the highest lanes keep their own.
template <class T>
__device__ __forceinline__ T shuffle_down(T value, int delta) {
  return detail::move_words(
      value, [=](unsigned word) { return __shfl_down_sync(kFullWarp, word, delta); });
}

}  // namespace weft::kernels::device
