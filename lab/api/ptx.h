// SPDX-License-Identifier: MIT
// What inline PTX is translated to (lab/ptx/ptx_cpp.cpp); ptx_arithmetic.h has its
// arithmetic.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "host_cuda/language/half_bits.h"
#include "host_cuda/language/intrinsics.h"
#include "host_cuda/language/tensor_core.h"
#include "host_cuda/language/warp.h"
#include "lab/api/ptx_arithmetic.h"

namespace weft::host_cuda::lab::ptx {

template <class T, int kLanes>
struct alignas(sizeof(T) * kLanes) Vector {
  T x[kLanes];
};

// The lowest bytes of a register as a T; a number becomes one. A predicate is true unless it is 0.
template <class T, class V>
inline T as(const V& from) {
  if constexpr (std::is_same_v<T, bool>) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &from, sizeof from < 8 ? sizeof from : 8);
    return bits != 0;
  } else if constexpr (std::is_integral_v<T> && std::is_integral_v<V>) {
    return static_cast<T>(from);
  } else {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &from, sizeof from < 8 ? sizeof from : 8);
    T to;
    std::memcpy(&to, &bits, sizeof to);
    return to;
  }
}
// The bits above those of the value are 0, or its sign in a wider integer of C++.
template <class V, class T>
inline void put(V&& to, const T& value) {
  using Register = std::remove_reference_t<V>;
  if constexpr (std::is_integral_v<Register> && std::is_integral_v<T>) {
    to = static_cast<Register>(value);
  } else {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value < 8 ? sizeof value : 8);
    std::memcpy(static_cast<void*>(&to), &bits, sizeof to < 8 ? sizeof to : 8);
  }
}
template <class T, class V>
inline void pack(unsigned long long& all, int place, int count, const V& part) {
  const int bits = static_cast<int>(8 * sizeof(T)) / count;
  const unsigned long long mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  all |= (as<unsigned long long>(part) & mask) << (place * bits);
}
template <class T, class V>
inline void unpack(unsigned long long all, int place, int count, V&& part) {
  const int bits = static_cast<int>(8 * sizeof(T)) / count;
  const unsigned long long mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  put(part, all >> (place * bits) & mask);
}

template <class V>
inline void* generic_at(const V& address, long long offset) {
  return reinterpret_cast<char*>(as<unsigned long long>(address)) + offset;
}
template <class V>
inline void* shared_at(const V& address, long long offset) {
  return generic_address(as<unsigned>(address) + static_cast<unsigned>(offset));
}
template <class V>
inline unsigned to_shared(const V& generic) {
  return shared_address(generic_at(generic, 0));
}

// The last operand of shfl.sync: 32 less the width, times 256, and the last lane of a segment.
inline int shuffle_width(unsigned c) {
  return 32 - static_cast<int>(c >> 8 & 31u);
}
inline bool shuffle_in_range_idx(unsigned b, unsigned c) {
  return static_cast<int>(b & 31u) < 32 || shuffle_width(c) > 0;
}
inline bool shuffle_in_range_up(unsigned b, unsigned c) {
  return lane() % shuffle_width(c) >= static_cast<int>(b & 31u);
}
inline bool shuffle_in_range_down(unsigned b, unsigned c) {
  return lane() % shuffle_width(c) + static_cast<int>(b & 31u) < shuffle_width(c);
}
inline bool shuffle_in_range_bfly(unsigned b, unsigned c) {
  return static_cast<int>(b & 31u) < shuffle_width(c);
}

// ldmatrix .x1, .x2, .x4: the rows are those that the first 8, 16 or 32 lanes name.
template <int kCount, bool kTransposed>
[[gnu::always_inline]] inline void load_matrices(unsigned (&words)[4], const void* row) {
  if constexpr (kCount < 4) row = __shfl_sync(0xffffffffu, row, lane() % (8 * kCount));
  const uint4 all = kTransposed ? load_matrices_transposed(row) : host_cuda::load_matrices(row);
  words[0] = all.x;
  words[1] = all.y;
  words[2] = all.z;
  words[3] = all.w;
}

// d += a b, of a warp. kernels/device/mma.cuh tells which lane holds what.
[[gnu::always_inline]] inline void take(float (&d)[4], float4 from) {
  d[0] = from.x;
  d[1] = from.y;
  d[2] = from.z;
  d[3] = from.w;
}
[[gnu::always_inline]] inline void m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4],
                                                const unsigned (&b)[2]) {
  take(d, mma_m16n8k8_tf32({d[0], d[1], d[2], d[3]}, {a[0], a[1], a[2], a[3]}, {b[0], b[1]}));
}
[[gnu::always_inline]] inline void m16n8k8_bf16(float (&d)[4], const unsigned (&a)[2],
                                                const unsigned (&b)[1]) {
  take(d, mma_m16n8k8_bf16({d[0], d[1], d[2], d[3]}, {a[0], a[1]}, b[0]));
}
[[gnu::always_inline]] inline void m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4],
                                                 const unsigned (&b)[2]) {
  take(d, mma_m16n8k16_bf16({d[0], d[1], d[2], d[3]}, {a[0], a[1], a[2], a[3]}, {b[0], b[1]}));
}
// Multiplies matrices of halves. Sums of halves are rounded to halves at the end.
void multiply_halves(float (&d)[4], const unsigned* a, const unsigned* b, int k, const void* site);
template <int kA, int kB>
WEFT_DEVICE_CALL void halves(float (&d)[4], const unsigned (&a)[kA], const unsigned (&b)[kB]) {
  multiply_halves(d, a, b, 8 * kB, WEFT_SITE);
}
template <int kA, int kB>
WEFT_DEVICE_CALL void halves(unsigned (&d)[2], const unsigned (&a)[kA], const unsigned (&b)[kB]) {
  float sums[4];
  for (int i = 0; i < 4; ++i) {
    sums[i] = float_of_half(static_cast<std::uint16_t>(d[i / 2] >> (16 * (i % 2))));
  }
  multiply_halves(sums, a, b, 8 * kB, WEFT_SITE);
  for (int i = 0; i < 2; ++i) {
    d[i] = half_bits(sums[2 * i]) | static_cast<unsigned>(half_bits(sums[2 * i + 1])) << 16;
  }
}

unsigned special_smid();
unsigned special_warpid();
[[noreturn]] void stop(const void* site);  // trap
[[noreturn]] WEFT_DEVICE_CALL inline void stop() {
  stop(WEFT_SITE);
}
inline unsigned special_laneid() {
  return static_cast<unsigned>(lane());
}
inline unsigned special_nwarpid() {
  return 64;
}
inline unsigned special_nsmid() {
  return 4;
}
inline unsigned long long special_gridid() {
  return 1;
}
inline unsigned long long special_clock64() {
  return static_cast<unsigned long long>(host_cuda::clock());
}
inline unsigned special_clock() {
  return static_cast<unsigned>(special_clock64());
}
inline unsigned special_clock_hi() {
  return static_cast<unsigned>(special_clock64() >> 32);
}
inline unsigned long long special_globaltimer() {
  return special_clock64();
}
inline unsigned special_globaltimer_lo() {
  return special_clock();
}
unsigned special_dynamic_smem_size();
inline unsigned special_lanemask_eq() {
  return 1u << lane();
}
inline unsigned special_lanemask_lt() {
  return special_lanemask_eq() - 1;
}
inline unsigned special_lanemask_le() {
  return special_lanemask_lt() | special_lanemask_eq();
}
inline unsigned special_lanemask_gt() {
  return ~special_lanemask_le();
}
inline unsigned special_lanemask_ge() {
  return ~special_lanemask_lt();
}
#define WEFT_PTX_PLACE(name, variable)   \
  inline unsigned special_##name##_x() { \
    return variable.x;                   \
  }                                      \
  inline unsigned special_##name##_y() { \
    return variable.y;                   \
  }                                      \
  inline unsigned special_##name##_z() { \
    return variable.z;                   \
  }
WEFT_PTX_PLACE(tid, threadIdx)
WEFT_PTX_PLACE(ntid, blockDim)
WEFT_PTX_PLACE(ctaid, blockIdx)
WEFT_PTX_PLACE(nctaid, gridDim)
#undef WEFT_PTX_PLACE

}  // namespace weft::host_cuda::lab::ptx
