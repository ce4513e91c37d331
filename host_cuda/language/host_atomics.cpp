// SPDX-License-Identifier: MIT
// g++ -fsanitize=thread also replaces the atomic operations of host code in .cu files, such as
// those of std::shared_ptr, by calls. Here they do what they say.
#ifndef __SANITIZE_ADDRESS__
#include <cstdint>

#define WEFT_ATOMICS(bits, T)                                                                      \
  extern "C" T __tsan_atomic##bits##_load(const volatile T* p, int) {                              \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  extern "C" void __tsan_atomic##bits##_store(volatile T* p, T value, int) {                       \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                \
  extern "C" T __tsan_atomic##bits##_exchange(volatile T* p, T value, int) {                       \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                                \
  extern "C" T __tsan_atomic##bits##_fetch_add(volatile T* p, T value, int) {                      \
    return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);                                         \
  }                                                                                                \
  extern "C" T __tsan_atomic##bits##_fetch_sub(volatile T* p, T value, int) {                      \
    return __atomic_fetch_sub(p, value, __ATOMIC_SEQ_CST);                                         \
  }                                                                                                \
  extern "C" T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T value, int, \
                                                          int) {                                   \
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
    return expected;                                                                               \
  }                                                                                                \
  extern "C" int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected,         \
                                                               T value, int, int) {                \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST,                \
                                       __ATOMIC_SEQ_CST);                                          \
  }
WEFT_ATOMICS(8, std::uint8_t)
WEFT_ATOMICS(32, std::uint32_t)
WEFT_ATOMICS(64, std::uint64_t)
extern "C" void __tsan_atomic_thread_fence(int) {}
#endif
