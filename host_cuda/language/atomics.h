// SPDX-License-Identifier: MIT
// Atomic operations. Threads run one at a time, so a plain update is atomic; what matters is that
// the checks know the access as an atomic one.
#pragma once

#include <cstring>
#include <type_traits>

#include "host_cuda/language/language.h"

namespace weft::host_cuda {

// Checks and counts an atomic access of the running thread. `site` is a return address.
void atomic_access(const void* address, std::size_t bytes, const void* site);
void host_writes(const void* data, std::size_t bytes);  // which counts as written from now on
void atomic_load(const void* address, std::size_t bytes, const void* site);  // that only reads

}  // namespace weft::host_cuda

#define WEFT_ATOMIC(name, expression)                                                \
  template <class T>                                                                 \
  WEFT_DEVICE_CALL T name(T* address, std::type_identity_t<T> value) {               \
    weft::host_cuda::atomic_access(address, sizeof(T), __builtin_return_address(0)); \
    const T old = *address;                                                          \
    *address = (expression);                                                         \
    return old;                                                                      \
  }
WEFT_ATOMIC(atomicAdd, static_cast<T>(old + value))
WEFT_ATOMIC(atomicSub, static_cast<T>(old - value))
WEFT_ATOMIC(atomicMin, value < old ? value : old)
WEFT_ATOMIC(atomicMax, old < value ? value : old)
WEFT_ATOMIC(atomicAnd, static_cast<T>(old& value))
WEFT_ATOMIC(atomicOr, static_cast<T>(old | value))
WEFT_ATOMIC(atomicXor, static_cast<T>(old ^ value))
WEFT_ATOMIC(atomicInc, old >= value ? T(0) : static_cast<T>(old + 1))
WEFT_ATOMIC(atomicDec, old == 0 || old > value ? value : static_cast<T>(old - 1))
#undef WEFT_ATOMIC

// Of memory that nobody has written the old value is seldom meant.
template <class T>
WEFT_DEVICE_CALL T atomicExch(T* address, std::type_identity_t<T> value) {
  weft::host_cuda::host_writes(address, sizeof(T));
  weft::host_cuda::atomic_access(address, sizeof(T), __builtin_return_address(0));
  const T old = *address;
  *address = value;
  return old;
}

template <class T>
WEFT_DEVICE_CALL T atomicCAS(T* address, std::type_identity_t<T> compare,
                             std::type_identity_t<T> value) {
  weft::host_cuda::atomic_access(address, sizeof(T), __builtin_return_address(0));
  const T old = *address;
  if (std::memcmp(&old, &compare, sizeof(T)) == 0) *address = value;
  return old;
}

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
