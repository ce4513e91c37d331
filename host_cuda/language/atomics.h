// SPDX-License-Identifier: MIT
// Atomic operations. Threads run one at a time, so a plain update is atomic; what matters is that
// the checks know the access as an atomic one.
#pragma once

#include <cstring>
#include <type_traits>

#include "host_cuda/language/language.h"

namespace weft::host_cuda {

// Checks and counts an atomic access of the running thread, of the scope of its block or of the
// device. `site` is a return address.
void atomic_access(const void* address, std::size_t bytes, const void* site, bool of_block = false);
void atomic_load(const void* address, std::size_t bytes, const void* site);  // that only reads
void compare_and_swap_access(const void* address, std::size_t bytes, const void* site,
                             bool of_block);
void compare_and_swap_took(const void* address, const void* site);  // it has changed the word
void host_writes(const void* data, std::size_t bytes);  // which counts as written from now on

}  // namespace weft::host_cuda

// Each of them in three scopes. The system is no more than the device here.
#define WEFT_SCOPED(define, name, ...)                                     \
  define(name, false, __VA_ARGS__) define(name##_block, true, __VA_ARGS__) \
      define(name##_system, false, __VA_ARGS__)

#define WEFT_ATOMIC_OF(name, of_block, ...)                                                    \
  template <class T>                                                                           \
  WEFT_DEVICE_CALL T name(T* address, weft::host_cuda::NotDeduced<T> value) {                  \
    weft::host_cuda::atomic_access(address, sizeof(T), __builtin_return_address(0), of_block); \
    const T old = *address;                                                                    \
    *address = (__VA_ARGS__);                                                                  \
    return old;                                                                                \
  }
#define WEFT_ATOMIC(name, ...) WEFT_SCOPED(WEFT_ATOMIC_OF, name, __VA_ARGS__)
WEFT_ATOMIC(atomicAdd, static_cast<T>(old + value))
WEFT_ATOMIC(atomicSub, static_cast<T>(old - value))
WEFT_ATOMIC(atomicMin, value < old ? value : old)
WEFT_ATOMIC(atomicMax, old < value ? value : old)
WEFT_ATOMIC(atomicAnd, static_cast<T>(old& value))
WEFT_ATOMIC(atomicOr, static_cast<T>(old | value))
WEFT_ATOMIC(atomicXor, static_cast<T>(old ^ value))
WEFT_ATOMIC(atomicInc, old >= value ? T(0) : static_cast<T>(old + 1))
WEFT_ATOMIC(atomicDec, old == 0 || old > value ? value : static_cast<T>(old - 1))

// A program seldom wants the old value of memory that nobody has written.
#define WEFT_EXCHANGE(name, of_block, ...)                                                     \
  template <class T>                                                                           \
  WEFT_DEVICE_CALL T name(T* address, weft::host_cuda::NotDeduced<T> value) {                  \
    weft::host_cuda::host_writes(address, sizeof(T));                                          \
    weft::host_cuda::atomic_access(address, sizeof(T), __builtin_return_address(0), of_block); \
    const T old = *address;                                                                    \
    *address = value;                                                                          \
    return old;                                                                                \
  }
WEFT_SCOPED(WEFT_EXCHANGE, atomicExch, )

#define WEFT_COMPARE_AND_SWAP(name, of_block, ...)                                \
  template <class T>                                                              \
  WEFT_DEVICE_CALL T name(T* address, weft::host_cuda::NotDeduced<T> compare,     \
                          weft::host_cuda::NotDeduced<T> value) {                 \
    const void* site = __builtin_return_address(0);                               \
    weft::host_cuda::compare_and_swap_access(address, sizeof(T), site, of_block); \
    const T old = *address;                                                       \
    if (std::memcmp(&old, &compare, sizeof(T)) == 0) {                            \
      if (std::memcmp(&compare, &value, sizeof(T)) != 0) {                        \
        weft::host_cuda::compare_and_swap_took(address, site);                    \
      }                                                                           \
      *address = value;                                                           \
    }                                                                             \
    return old;                                                                   \
  }
WEFT_SCOPED(WEFT_COMPARE_AND_SWAP, atomicCAS, )
#undef WEFT_COMPARE_AND_SWAP
#undef WEFT_EXCHANGE
#undef WEFT_ATOMIC
#undef WEFT_ATOMIC_OF
#undef WEFT_SCOPED

namespace weft::host_cuda {

// Relaxed accesses at the scope of the device, as one block publishes a value to others with them.
template <class T>
WEFT_DEVICE_CALL T load_relaxed(const T* address) {
  atomic_load(address, sizeof(T), __builtin_return_address(0));
  return *address;
}
template <class T>
WEFT_DEVICE_CALL void store_relaxed(T* address, T value) {
  atomic_access(address, sizeof(T), __builtin_return_address(0));
  *address = value;
}

}  // namespace weft::host_cuda
