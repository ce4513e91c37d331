// SPDX-License-Identifier: MIT
// Cooperative groups: the block, tiles of it, the grid, and groups whose kind is known at run time.
#pragma once

#include <cuda_runtime.h>

#include "host_cuda/language/macros_hidden.inc"

#include "engine/extent.h"

namespace cooperative_groups {

class coalesced_group;

namespace detail {
inline unsigned rank_in_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
inline unsigned block_size() {
  return blockDim.x * blockDim.y * blockDim.z;
}
// The mask of the lanes in this thread's tile.
inline unsigned tile_mask(unsigned size) {
  const unsigned bits = size == 32 ? 0xffffffffu : (1u << size % 32) - 1;
  return bits << rank_in_block() % 32 / size * size;
}
// A shuffle moves 4 bytes; values of any size go in pieces.
template <class T, class Move>
T by_words(T value, Move move) {
  unsigned words[weft::divide_up(sizeof(T), 4)] = {};
  std::memcpy(words, &value, sizeof(T));
  for (unsigned& word : words) word = move(word);
  std::memcpy(&value, words, sizeof(T));
  return value;
}
template <class Label>
coalesced_group partition(unsigned mask, Label label);
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
    return detail::by_words(value,
                            [=](unsigned word) { return __shfl_sync(mask(), word, lane, kSize); });
  }
  template <class T>
  T shfl_up(T value, unsigned delta) const {
    return detail::by_words(
        value, [=](unsigned word) { return __shfl_up_sync(mask(), word, delta, kSize); });
  }
  template <class T>
  T shfl_down(T value, unsigned delta) const {
    return detail::by_words(
        value, [=](unsigned word) { return __shfl_down_sync(mask(), word, delta, kSize); });
  }
  template <class T>
  T shfl_xor(T value, int lane_mask) const {
    return detail::by_words(
        value, [=](unsigned word) { return __shfl_xor_sync(mask(), word, lane_mask, kSize); });
  }
  int any(int predicate) const { return __any_sync(mask(), predicate); }
  int all(int predicate) const { return __all_sync(mask(), predicate); }
  unsigned ballot(int predicate) const { return in_tile(__ballot_sync(mask(), predicate)); }
  template <class T>
  unsigned match_any(T value) const {
    return in_tile(__match_any_sync(mask(), value));
  }

 private:
  static unsigned mask() { return detail::tile_mask(kSize); }
  static unsigned in_tile(unsigned bits) {
    return (bits & mask()) >> detail::rank_in_block() % 32 / kSize * kSize;
  }
};

template <unsigned kSize>
thread_block_tile<kSize> tiled_partition(const thread_group&) {
  return {};
}

// Some lanes of a warp.
class coalesced_group {
 public:
  unsigned size() const { return static_cast<unsigned>(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    return static_cast<unsigned>(__popc(mask_ & ((1u << weft::host_cuda::lane()) - 1)));
  }
  unsigned long long meta_group_rank() const { return rank_; }
  unsigned long long meta_group_size() const { return groups_; }
  [[gnu::always_inline]] void sync() const { __syncwarp(mask_); }
  template <class T>
  T shfl(T value, unsigned rank) const {
    return detail::by_words(
        value, [this, rank](unsigned word) { return __shfl_sync(mask_, word, lane_of(rank)); });
  }
  template <class T>
  T shfl_up(T value, unsigned delta) const {
    return shfl(value, thread_rank() >= delta ? thread_rank() - delta : thread_rank());
  }
  template <class T>
  T shfl_down(T value, unsigned delta) const {
    return shfl(value, thread_rank() + delta < size() ? thread_rank() + delta : thread_rank());
  }
  int any(int predicate) const { return __any_sync(mask_, predicate); }
  int all(int predicate) const { return __all_sync(mask_, predicate); }
  unsigned ballot(int predicate) const { return by_rank(__ballot_sync(mask_, predicate)); }
  template <class T>
  unsigned match_any(T value) const {
    return by_rank(__match_any_sync(mask_, value));
  }

 private:
  explicit coalesced_group(unsigned mask) : mask_(mask) {}
  friend coalesced_group coalesced_threads();
  template <class Label>
  friend coalesced_group detail::partition(unsigned mask, Label label);
  template <unsigned kSize, class Parent>
  friend coalesced_group binary_partition(const thread_block_tile<kSize, Parent>& tile, bool label);
  template <class Label>
  friend coalesced_group labeled_partition(const coalesced_group& group, Label label);

  int lane_of(unsigned rank) const {
    unsigned left = mask_;
    for (; rank > 0 && left != 0; --rank) left &= left - 1;
    return left != 0 ? __ffs(static_cast<int>(left)) - 1 : weft::host_cuda::lane();
  }
  unsigned by_rank(unsigned lanes) const {
    unsigned bits = 0, rank = 0;
    for (unsigned left = mask_; left != 0; left &= left - 1, ++rank) {
      if ((lanes & left & ~(left - 1)) != 0) bits |= 1u << rank;
    }
    return bits;
  }

  unsigned mask_;
  unsigned rank_ = 0, groups_ = 1;  // of those that one partition has made
};
WEFT_DEVICE_CALL inline coalesced_group coalesced_threads() {
  return coalesced_group(weft::host_cuda::active_mask(__builtin_return_address(0)));
}

// The lanes of `mask` whose label is that of this one. Groups are numbered by their first lanes.
template <class Label>
coalesced_group detail::partition(unsigned mask, Label label) {
  coalesced_group group(__match_any_sync(mask, label));
  const unsigned firsts =
      __ballot_sync(mask, (group.mask_ & ((1u << weft::host_cuda::lane()) - 1)) == 0);
  const unsigned first = group.mask_ & ~(group.mask_ - 1);
  group.rank_ = static_cast<unsigned>(__popc(firsts & (first - 1)));
  group.groups_ = static_cast<unsigned>(__popc(firsts));
  return group;
}
template <unsigned kSize, class Parent, class Label>
coalesced_group labeled_partition(const thread_block_tile<kSize, Parent>&, Label label) {
  return detail::partition(detail::tile_mask(kSize), label);
}
template <class Label>
coalesced_group labeled_partition(const coalesced_group& group, Label label) {
  return detail::partition(group.mask_, label);
}
template <unsigned kSize, class Parent>
coalesced_group binary_partition(const thread_block_tile<kSize, Parent>& tile, bool label) {
  coalesced_group group = labeled_partition(tile, static_cast<int>(label));
  group.rank_ = label ? 1 : 0;
  group.groups_ = 2;
  return group;
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

#include "host_cuda/language/macros_shown.inc"
