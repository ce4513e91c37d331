// SPDX-License-Identifier: MIT
// Cooperative groups as far as the catalogue uses them: the block, tiles of it, and the grid.
#pragma once

#include <cuda_runtime.h>

namespace cooperative_groups {

class thread_block {
 public:
  void sync() const { __syncthreads(); }
  unsigned thread_rank() const {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
  unsigned num_threads() const { return size(); }
  dim3 group_index() const { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  dim3 thread_index() const { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
};

inline thread_block this_thread_block() {
  return {};
}

// kSize threads in a row, a part of one warp.
template <unsigned kSize>
class thread_block_tile {
  static_assert(kSize <= 32 && (kSize & (kSize - 1)) == 0, "a tile is a power of two of one warp");

 public:
  unsigned thread_rank() const { return this_thread_block().thread_rank() % kSize; }
  unsigned meta_group_rank() const { return this_thread_block().thread_rank() / kSize; }
  unsigned meta_group_size() const { return (this_thread_block().size() + kSize - 1) / kSize; }
  static constexpr unsigned size() { return kSize; }
  static constexpr unsigned num_threads() { return kSize; }

  void sync() const { __syncwarp(mask()); }
  template <class T>
  T shfl(T value, int lane) const {
    return by_words(value, [=](unsigned word) { return __shfl_sync(mask(), word, lane, kSize); });
  }
  template <class T>
  T shfl_up(T value, unsigned delta) const {
    return by_words(value,
                    [=](unsigned word) { return __shfl_up_sync(mask(), word, delta, kSize); });
  }
  template <class T>
  T shfl_down(T value, unsigned delta) const {
    return by_words(value,
                    [=](unsigned word) { return __shfl_down_sync(mask(), word, delta, kSize); });
  }
  template <class T>
  T shfl_xor(T value, int lane_mask) const {
    return by_words(value,
                    [=](unsigned word) { return __shfl_xor_sync(mask(), word, lane_mask, kSize); });
  }
  int any(int predicate) const { return __any_sync(mask(), predicate); }
  int all(int predicate) const { return __all_sync(mask(), predicate); }
  unsigned ballot(int predicate) const {
    return __ballot_sync(mask(), predicate) >> first_lane() & mask_of_size();
  }

 private:
  // A shuffle moves 4 bytes; values of any size go in pieces.
  template <class T, class Move>
  static T by_words(T value, Move move) {
    unsigned words[(sizeof(T) + 3) / 4] = {};
    std::memcpy(words, &value, sizeof(T));
    for (unsigned& word : words) word = move(word);
    std::memcpy(&value, words, sizeof(T));
    return value;
  }
  static constexpr unsigned mask_of_size() {
    return kSize == 32 ? 0xffffffffu : (1u << kSize % 32) - 1;
  }
  static unsigned first_lane() { return this_thread_block().thread_rank() % 32 / kSize * kSize; }
  static unsigned mask() { return mask_of_size() << first_lane(); }
};

template <unsigned kSize>
thread_block_tile<kSize> tiled_partition(const thread_block&) {
  return {};
}

class grid_group {
 public:
  void sync() const { weft::host_cuda::grid_barrier(); }
  unsigned long long thread_rank() const {
    const unsigned long long block =
        (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x +
        blockIdx.x;
    return block * this_thread_block().size() + this_thread_block().thread_rank();
  }
  unsigned long long size() const {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z *
           this_thread_block().size();
  }
};

inline grid_group this_grid() {
  return {};
}

}  // namespace cooperative_groups
