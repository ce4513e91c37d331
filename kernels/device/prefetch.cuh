// SPDX-License-Identifier: MIT
// Fetching memory into the L2 cache ahead of its use (PTX ISA, "cp.async.bulk.prefetch"). sm_90; a
// hint that older devices do without.
#pragma once

#include <cstdint>

#include "engine/extent.h"

namespace weft::kernels::device {

// Prefetches `count` values (below 2^32 bytes), except a few at either end that are not whole 16
// bytes. Returns at once. One thread calls it for all.
template <class T>
__device__ __forceinline__ void prefetch(const T* from, std::int64_t count) {
#if __CUDA_ARCH__ >= 900
  const auto begin = round_up(reinterpret_cast<std::uintptr_t>(from), 16);
  const auto end = reinterpret_cast<std::uintptr_t>(from + count) / 16 * 16;
  if (begin >= end) return;
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(begin),
               "r"(static_cast<std::uint32_t>(end - begin))
               : "memory");
#else
  static_cast<void>(from), static_cast<void>(count);
#endif
}

// Prefetches the line that holds this value. The copy engine, which serves prefetch(), is left free
// for copies.
template <class T>
__device__ __forceinline__ void prefetch_line(const T* from) {
#ifdef __CUDA_ARCH__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#else
  static_cast<void>(from);
#endif
}

}  // namespace weft::kernels::device
