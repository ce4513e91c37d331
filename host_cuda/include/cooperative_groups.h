// SPDX-License-Identifier: MIT
// Cooperative groups: the block, tiles of it, the grid, and groups whose kind is known at run time.
#pragma once

#include <cuda_runtime.h>

#include "engine/extent.h"

namespace cooperative_groups {

namespace detail {
inline unsigned rank_in_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
inline unsigned block_size() {
  return blockDim.x * blockDim.y * blockDim.z;
}
// Of the tile of this thread.
inline unsigned tile_mask(unsigned size) {
  const unsigned bits = size == 32 ? 0xffffffffu : (1u << size % 32) - 1;
  return bits << rank_in_block() % 32 / size * size;
}
}  // namespace detail

// A block, or a tile of 1 to 32 threads of it.
class thread_group {
 public:
  unsigned size() const { return tile_ == 0 ? detail::block_size() : tile_; }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    return tile_ == 0 ? detail::rank_in_block() : detail::rank_in_block() % tile_;
  }
  [[gnu::always_inline]] void sync() const {
    if (tile_ == 0) {
      __syncthreads();
    } else {
      __syncwarp(detail::tile_mask(tile_));
    }
  }

 protected:
  explicit thread_group(unsigned tile) : tile_(tile) {}
  friend thread_group tiled_partition(const thread_group&, unsigned);

 private:
  unsigned tile_;  // threads of a tile; 0 for the block
};

class thread_block : public thread_group {
 public:
  thread_block() : thread_group(0) {}
  [[gnu::always_inline]] void sync() const { __syncthreads(); }
  unsigned thread_rank() const { return detail::rank_in_block(); }
  unsigned size() const { return detail::block_size(); }
  unsigned num_threads() const { return size(); }
  dim3 group_index() const { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  dim3 thread_index() const { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  dim3 group_dim() const { return blockDim; }
  dim3 dim_threads() const { return blockDim; }
};

inline thread_block this_thread_block() {
  return {};
}
inline thread_group tiled_partition(const thread_group&, unsigned size) {
  return thread_group(size);
}

// kSize threads in a row, a part of one warp.
template <unsigned kSize, class Parent = void>
class thread_block_tile : public thread_group {
  static_assert(kSize <= 32 && (kSize & (kSize - 1)) == 0, "a tile is a power of two of one warp");

 public:
  thread_block_tile() : thread_group(kSize) {}
  template <class Other>
  thread_block_tile(const thread_block_tile<kSize, Other>&) : thread_block_tile() {}

  unsigned thread_rank() const { return detail::rank_in_block() % kSize; }
  unsigned meta_group_rank() const { return detail::rank_in_block() / kSize; }
  unsigned meta_group_size() const { return weft::divide_up(detail::block_size(), kSize); }
  static constexpr unsigned size() { return kSize; }
  static constexpr unsigned num_threads() { return kSize; }

  [[gnu::always_inline]] void sync() const { __syncwarp(mask()); }
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
  unsigned ballot(int predicate) const { return in_tile(__ballot_sync(mask(), predicate)); }
  template <class T>
  unsigned match_any(T value) const {
    return in_tile(__match_any_sync(mask(), value));
  }

 private:
  // A shuffle moves 4 bytes; values of any size go in pieces.
  template <class T, class Move>
  static T by_words(T value, Move move) {
    unsigned words[weft::divide_up(sizeof(T), 4)] = {};
    std::memcpy(words, &value, sizeof(T));
    for (unsigned& word : words) word = move(word);
    std::memcpy(&value, words, sizeof(T));
    return value;
  }
  static unsigned mask() { return detail::tile_mask(kSize); }
  static unsigned in_tile(unsigned bits) {
    return (bits & mask()) >> detail::rank_in_block() % 32 / kSize * kSize;
  }
};

template <unsigned kSize>
thread_block_tile<kSize> tiled_partition(const thread_group&) {
  return {};
}

// The threads that are at the same place may be any; here each is by itself, which is one of them.
class coalesced_group {
 public:
  static constexpr unsigned size() { return 1; }
  static constexpr unsigned num_threads() { return 1; }
  static constexpr unsigned thread_rank() { return 0; }
  void sync() const {}
  template <class T>
  T shfl(T value, int) const {
    return value;
  }
  int any(int predicate) const { return predicate != 0; }
  int all(int predicate) const { return predicate != 0; }
  unsigned ballot(int predicate) const { return predicate != 0; }
};
inline coalesced_group coalesced_threads() {
  return {};
}

class grid_group {
 public:
  [[gnu::always_inline]] void sync() const { weft::host_cuda::grid_barrier(); }
  bool is_valid() const { return true; }
  unsigned long long block_rank() const {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x +
           blockIdx.x;
  }
  unsigned long long num_blocks() const {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  unsigned long long thread_rank() const {
    return block_rank() * detail::block_size() + detail::rank_in_block();
  }
  unsigned long long size() const { return num_blocks() * detail::block_size(); }
  unsigned long long num_threads() const { return size(); }
  dim3 group_dim() const { return gridDim; }
  dim3 dim_blocks() const { return gridDim; }
};

inline grid_group this_grid() {
  return {};
}

template <class Group>
[[gnu::always_inline]] inline void sync(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
