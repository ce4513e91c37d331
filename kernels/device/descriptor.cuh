// SPDX-License-Identifier: MIT
// Descriptors: values that one block publishes to others while the kernel runs.
//
// A value of w words of 4 bytes is kept in w words of 8: the upper half of each is the state, the
// lower half a part of the value. A word is written and read as a whole, so a reader that finds the
// same state in all words has a value that was written with it, and no fence is needed: relaxed
// accesses do. A state only grows, and its value is written once; a descriptor may be used again
// when nobody looks at it any more, with a state that no one has waited for yet.
#pragma once

#include <cstdint>
#include <cstring>

namespace weft::kernels::device {

using DescriptorWord = unsigned long long;

enum class TileState : unsigned { empty = 0, total = 1, prefix = 2 };

template <class T>
constexpr int kDescriptorWords = static_cast<int>(sizeof(T) / 4);

// Relaxed at the scope of the device: seen by other blocks, not reordered with itself. host-cuda
// takes a volatile access for one. Under AddressSanitizer it does not see accesses, and a thread
// that waits for another one must say so by a call.
__device__ __forceinline__ DescriptorWord load_relaxed(const DescriptorWord* p) {
#if defined(WEFT_HOST_CUDA) && defined(__SANITIZE_ADDRESS__)
  return host_cuda::load_relaxed(p);
#elif defined(WEFT_HOST_CUDA)
  return *static_cast<const volatile DescriptorWord*>(p);
#else
  DescriptorWord word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(p) : "memory");
  return word;
#endif
}
__device__ __forceinline__ void store_relaxed(DescriptorWord* p, DescriptorWord word) {
#if defined(WEFT_HOST_CUDA) && defined(__SANITIZE_ADDRESS__)
  host_cuda::store_relaxed(p, word);
#elif defined(WEFT_HOST_CUDA)
  *static_cast<volatile DescriptorWord*>(p) = word;
#else
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(word) : "memory");
#endif
}

// One thread per descriptor calls it.
template <class T>
__device__ __forceinline__ void publish(DescriptorWord* descriptors, std::int64_t tile,
                                        TileState state, const T& value) {
  static_assert(sizeof(T) % 4 == 0, "a descriptor holds words of 4 bytes");
  unsigned words[kDescriptorWords<T>];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int w = 0; w < kDescriptorWords<T>; ++w) {
    store_relaxed(descriptors + tile * kDescriptorWords<T> + w,
                  static_cast<DescriptorWord>(state) << 32 | words[w]);
  }
}

// A descriptor as it was read, so that its words can arrive while the reader does something else.
template <class T>
struct Look {
  DescriptorWord words[kDescriptorWords<T>];
};
template <class T>
__device__ __forceinline__ Look<T> look_at(const DescriptorWord* descriptors, std::int64_t tile) {
  Look<T> look;
#pragma unroll
  for (int w = 0; w < kDescriptorWords<T>; ++w) {
    look.words[w] = load_relaxed(descriptors + tile * kDescriptorWords<T> + w);
  }
  return look;
}

// The state, and the value unless that is empty: empty too while a writer is between words.
template <class T>
__device__ __forceinline__ TileState seen(const Look<T>& look, T& value) {
  unsigned words[kDescriptorWords<T>];
  const unsigned state = static_cast<unsigned>(look.words[0] >> 32);
  bool whole = true;
#pragma unroll
  for (int w = 0; w < kDescriptorWords<T>; ++w) {
    words[w] = static_cast<unsigned>(look.words[w]);
    whole = whole && state == static_cast<unsigned>(look.words[w] >> 32);
  }
  if (!whole) return TileState::empty;
  memcpy(&value, words, sizeof(T));
  return static_cast<TileState>(state);
}
template <class T>
__device__ __forceinline__ TileState inspect(const DescriptorWord* descriptors, std::int64_t tile,
                                             T& value) {
  return seen(look_at<T>(descriptors, tile), value);
}

// Empties a descriptor that nobody looks at any more.
template <class T>
__device__ __forceinline__ void clear(DescriptorWord* descriptors, std::int64_t tile) {
#pragma unroll
  for (int w = 0; w < kDescriptorWords<T>; ++w) {
    store_relaxed(descriptors + tile * kDescriptorWords<T> + w, 0);
  }
}

}  // namespace weft::kernels::device
