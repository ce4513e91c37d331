// SPDX-License-Identifier: MIT
// Validation, the table of variants and dispatch of the memory kernels.
#include "kernels/memory/memory.h"

#include <array>

#include "engine/error.h"
#include "engine/stream.h"
#include "kernels/checks.h"
#include "kernels/memory/cpu_table.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/memory/cuda.h"
#endif

namespace weft::kernels {
namespace {

void check_access(std::string_view where, std::int64_t n, const Access& access) {
  static_cast<void>(checked_elements(where, {n}));
  std::int64_t last = 0;
  if (access.offset < 0 || access.stride < 1 || __builtin_mul_overflow(n, access.stride, &last) ||
      __builtin_add_overflow(last, access.offset, &last)) {
    throw Error(ErrorKind::usage,
                str(where, ": expected offset >= 0, stride >= 1 and an extent below 2^63, found ",
                    access.offset, ", ", access.stride, " and n = ", n));
  }
}

}  // namespace

void vector_add(float* c, const float* a, const float* b, std::int64_t n, VectorAddVariant variant,
                const Stream& stream) {
  if (stream.device().is_cpu() && variant == VectorAddVariant::scalar) {
    throw Error(ErrorKind::usage, "vector_add variant scalar does not run on cpu");
  }
  if (checked_elements("vector_add", {n}) == 0) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return variant == VectorAddVariant::scalar ? cuda::vector_add_scalar(c, a, b, n, stream)
                                               : cuda::vector_add_vectorized(c, a, b, n, stream);
  }
#endif
  select_memory_cpu().vector_add(c, a, b, n);
}

void copy_strided(float* y, const float* x, std::int64_t n, const Access& access,
                  const Stream& stream) {
  check_access("copy_strided", n, access);
  if (n == 0) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return cuda::copy_strided(y, x, n, access, stream);
#endif
  static_cast<void>(stream);
  select_memory_cpu().copy_strided(y, x, n, access);
}

void read_strided(std::int64_t* sum, const std::int32_t* x, std::int64_t n, const Access& access,
                  const Stream& stream) {
  check_access("read_strided", n, access);
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    zero_bytes(sum, sizeof(std::int64_t), stream);
    return cuda::read_strided(sum, x, n, access, stream);
  }
#endif
  static_cast<void>(stream);
  select_memory_cpu().read_strided(sum, x, n, access);
}

void shared_strided(std::uint32_t* sums, std::int64_t blocks, int stride, int rounds,
                    const Stream& stream) {
  if (stride < 1 || rounds < 0 || rounds > 4096) {
    throw Error(ErrorKind::usage,
                str("shared_strided: expected stride >= 1 and 0 to 4096 rounds, found ", stride,
                    " and ", rounds));
  }
  if (blocks > 0x7fffffff) {
    throw Error(ErrorKind::usage, str("shared_strided: at most 2^31 - 1 blocks, found ", blocks));
  }
  if (checked_elements("shared_strided", {blocks, kSharedThreads}) == 0) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return cuda::shared_strided(sums, blocks, stride, rounds, stream);
  }
#endif
  static_cast<void>(stream);
  select_memory_cpu().shared_strided(sums, blocks, stride, rounds);
}

void copy_rows(float* y, const float* x, std::int64_t rows, std::int64_t cols, std::int64_t y_pitch,
               std::int64_t x_pitch, const Stream& stream) {
  if (y_pitch < cols || x_pitch < cols) {
    throw Error(ErrorKind::usage, str("copy_rows: pitches ", y_pitch, " and ", x_pitch,
                                      " must not be shorter than a row of ", cols));
  }
  static_cast<void>(checked_elements("copy_rows", {rows, y_pitch}));
  static_cast<void>(checked_elements("copy_rows", {rows, x_pitch}));
  if (checked_elements("copy_rows", {rows, cols}) == 0) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return cuda::copy_rows(y, x, rows, cols, y_pitch, x_pitch, stream);
  }
#endif
  static_cast<void>(stream);
  select_memory_cpu().copy_rows(y, x, rows, cols, y_pitch, x_pitch);
}

namespace {

constexpr std::array kVariants = {
    VariantInfo{"vector_add", "c = a + b, one element per thread: the first kernel of every course",
                false, true, 0, ""},
    VariantInfo{"vector_add_vectorized",
                "the same with loads and stores of 16 bytes, two of each in flight per thread",
                true, true, 0, ""},
    VariantInfo{"copy_by_offset",
                "a copy that starts off a boundary: each warp touches one sector more", true, true,
                0, ""},
    VariantInfo{"copy_by_stride",
                "a copy of every s-th element: of each sector moved, 1/s is used, at least 1/8",
                true, true, 0, ""},
    VariantInfo{"read_by_offset", "reads only, summed exactly, from an offset", true, true, 0, ""},
    VariantInfo{"read_by_stride", "reads only, summed exactly, every s-th element", true, true, 0,
                ""},
    VariantInfo{"shared_by_stride",
                "reads of shared memory with lanes s words apart: gcd(s, 32) lanes share a bank "
                "and wait for each other",
                true, true, 0, ""},
    VariantInfo{"dense_rows", "a copy of rows of any length one behind the other", true, true, 0,
                ""},
    VariantInfo{"pitched_rows", "the same with each row at a boundary of 128 bytes", true, true, 0,
                ""},
    VariantInfo{"pageable_transfer",
                "host to device and back, from ordinary memory: through a buffer of the driver",
                true, true, 0, ""},
    VariantInfo{"pinned_transfer",
                "the same from memory locked in place, which the copy engine reads directly", true,
                true, 0, ""},
};

}  // namespace

std::span<const VariantInfo> memory_variants() {
  return kVariants;
}

}  // namespace weft::kernels
