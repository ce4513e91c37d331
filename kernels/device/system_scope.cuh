// SPDX-License-Identifier: MIT
// Accesses that kernels on several GPUs talk with: at the scope of the system, past the caches of a
// GPU that others do not see (PTX ISA, "Memory Consistency Model").
//
// store_release() by a thread behind a barrier of its block publishes what the whole block has
// written before. A thread that has seen the value by load_acquire() may read all of that, and so
// may its block behind another barrier.
//
// Tagged words need no such order: a value and the number of the call that it belongs to are 8
// bytes, which are written and read as a whole. Who finds the number has the value.
#pragma once

#include <cstdint>
#include <cstring>

namespace weft::kernels::device {

using SystemWord = unsigned long long;

__device__ __forceinline__ void store_release(SystemWord* p, SystemWord value) {
#ifdef WEFT_HOST_CUDA
  __threadfence_system();
  host_cuda::store_relaxed(p, value);
#else
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(value) : "memory");
#endif
}

__device__ __forceinline__ SystemWord load_acquire(const SystemWord* p) {
#ifdef WEFT_HOST_CUDA
  const SystemWord value = host_cuda::load_relaxed(p);
  __threadfence_system();
  return value;
#else
  SystemWord value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
  return value;
#endif
}

// A tagged word.
__device__ __forceinline__ SystemWord tagged(float value, std::uint32_t tag) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return static_cast<SystemWord>(tag) << 32 | bits;
}
__device__ __forceinline__ std::uint32_t tag_of(SystemWord word) {
  return static_cast<std::uint32_t>(word >> 32);
}
__device__ __forceinline__ float value_of(SystemWord word) {
  const std::uint32_t bits = static_cast<std::uint32_t>(word);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

__device__ __forceinline__ void store_word(SystemWord* p, SystemWord word) {
#ifdef WEFT_HOST_CUDA
  host_cuda::store_relaxed(p, word);
#else
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(word) : "memory");
#endif
}
__device__ __forceinline__ SystemWord load_word(const SystemWord* p) {
#ifdef WEFT_HOST_CUDA
  return host_cuda::load_relaxed(p);
#else
  SystemWord word;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(p) : "memory");
  return word;
#endif
}

// Two words in one access of 16 bytes, to which p is aligned. Each is whole, but not the pair.
struct WordPair {
  SystemWord word[2];
};
__device__ __forceinline__ void store_pair(SystemWord* p, const WordPair& pair) {
#ifdef WEFT_HOST_CUDA
  store_word(p, pair.word[0]);
  store_word(p + 1, pair.word[1]);
#else
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(pair.word[0]),
               "l"(pair.word[1])
               : "memory");
#endif
}
__device__ __forceinline__ WordPair load_pair(const SystemWord* p) {
  WordPair pair;
#ifdef WEFT_HOST_CUDA
  pair.word[0] = load_word(p);
  pair.word[1] = load_word(p + 1);
#else
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(pair.word[0]), "=l"(pair.word[1])
               : "l"(p)
               : "memory");
#endif
  return pair;
}

}  // namespace weft::kernels::device
