// SPDX-License-Identifier: MIT
// Shuffles, votes, match and reduce of a warp. A call waits until every lane of its mask is at the
// same call with the same mask; a lane that never comes is reported.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "host_cuda/language/language.h"

namespace weft::host_cuda {

enum class WarpOp : std::uint8_t {
  sync,
  shuffle,  // the value of lane `source`
  ballot,   // a bit per lane whose value is not 0
  match_any,
  match_all,
  add,
  min_signed,
  max_signed,
  min_unsigned,
  max_unsigned,
  bit_and,
  bit_or,
  bit_xor,
  active,       // which lanes are here
  mma_tf32_k8,  // these are tensor_core.cpp's: the value is the address of what a lane brings
  mma_bf16_k8,
  mma_bf16_k16,
  load_matrices,
  load_matrices_transposed,
  matrix_function,
};

// One lane's part of a warp operation. `name` and `site` (a return address) are for messages.
struct WarpCall {
  WarpOp op;
  unsigned mask;
  std::uint64_t value = 0;
  int source = 0;
  const char* name = "";
  const void* site = nullptr;
};
std::uint64_t warp_operation(const WarpCall& call);

int lane();

// The lanes that are at the same place of the source, `site`, when no other lane of the warp can go
// on: as many as a warp can bring together. Lanes that have exited, or wait elsewhere, are none.
unsigned active_mask(const void* site);

// Lanes are counted within their segment of `width`; out of it a lane reads itself.
int shuffle_source(int width, int lane_in_segment);
int shuffle_up_source(int width, unsigned delta);
int shuffle_down_source(int width, unsigned delta);
int shuffle_xor_source(int width, int lane_mask);

template <class T>
[[gnu::always_inline]] inline T shuffled(unsigned mask, T value, int source, const char* name,
                                         const void* site) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>,
                "a shuffle moves a value of at most 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = warp_operation({WarpOp::shuffle, mask, bits, source, name, site});
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace weft::host_cuda

#define WEFT_SITE __builtin_return_address(0)

template <class T>
WEFT_DEVICE_CALL T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return weft::host_cuda::shuffled(mask, value, weft::host_cuda::shuffle_source(width, source),
                                   "__shfl_sync", WEFT_SITE);
}
template <class T>
WEFT_DEVICE_CALL T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return weft::host_cuda::shuffled(mask, value, weft::host_cuda::shuffle_up_source(width, delta),
                                   "__shfl_up_sync", WEFT_SITE);
}
template <class T>
WEFT_DEVICE_CALL T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return weft::host_cuda::shuffled(mask, value, weft::host_cuda::shuffle_down_source(width, delta),
                                   "__shfl_down_sync", WEFT_SITE);
}
template <class T>
WEFT_DEVICE_CALL T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  return weft::host_cuda::shuffled(mask, value,
                                   weft::host_cuda::shuffle_xor_source(width, lane_mask),
                                   "__shfl_xor_sync", WEFT_SITE);
}

WEFT_DEVICE_CALL inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(weft::host_cuda::warp_operation(
      {weft::host_cuda::WarpOp::ballot, mask, predicate != 0, 0, "__ballot_sync", WEFT_SITE}));
}
WEFT_DEVICE_CALL inline int __any_sync(unsigned mask, int predicate) {
  return weft::host_cuda::warp_operation({weft::host_cuda::WarpOp::ballot, mask, predicate != 0, 0,
                                          "__any_sync", WEFT_SITE}) != 0;
}
WEFT_DEVICE_CALL inline int __all_sync(unsigned mask, int predicate) {
  return weft::host_cuda::warp_operation({weft::host_cuda::WarpOp::ballot, mask, predicate == 0, 0,
                                          "__all_sync", WEFT_SITE}) == 0;
}
template <class T>
WEFT_DEVICE_CALL unsigned __match_any_sync(unsigned mask, T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return static_cast<unsigned>(weft::host_cuda::warp_operation(
      {weft::host_cuda::WarpOp::match_any, mask, bits, 0, "__match_any_sync", WEFT_SITE}));
}
template <class T>
WEFT_DEVICE_CALL unsigned __match_all_sync(unsigned mask, T value, int* same) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  const auto found = static_cast<unsigned>(weft::host_cuda::warp_operation(
      {weft::host_cuda::WarpOp::match_all, mask, bits, 0, "__match_all_sync", WEFT_SITE}));
  *same = found != 0;
  return found;
}

#define WEFT_WARP_REDUCE(name, T, Op)                                                          \
  WEFT_DEVICE_CALL inline T name(unsigned mask, T value) {                                     \
    return static_cast<T>(weft::host_cuda::warp_operation(                                     \
        {weft::host_cuda::WarpOp::Op, mask,                                                    \
         static_cast<std::uint64_t>(static_cast<std::int64_t>(value)), 0, #name, WEFT_SITE})); \
  }
WEFT_WARP_REDUCE(__reduce_add_sync, int, add)
WEFT_WARP_REDUCE(__reduce_add_sync, unsigned, add)
WEFT_WARP_REDUCE(__reduce_min_sync, int, min_signed)
WEFT_WARP_REDUCE(__reduce_max_sync, int, max_signed)
WEFT_WARP_REDUCE(__reduce_min_sync, unsigned, min_unsigned)
WEFT_WARP_REDUCE(__reduce_max_sync, unsigned, max_unsigned)
WEFT_WARP_REDUCE(__reduce_and_sync, unsigned, bit_and)
WEFT_WARP_REDUCE(__reduce_or_sync, unsigned, bit_or)
WEFT_WARP_REDUCE(__reduce_xor_sync, unsigned, bit_xor)

WEFT_DEVICE_CALL inline unsigned __activemask() {
  return weft::host_cuda::active_mask(WEFT_SITE);
}

#undef WEFT_WARP_REDUCE
