// SPDX-License-Identifier: MIT
// The validation of concat and split, their one way on each device, and that of the CPU.
#include "kernels/planes/concat.h"

#include <cstring>

#include "kernels/checks.h"
#include "kernels/planes/parts/launchers.h"

namespace weft::kernels {

namespace {

struct ConcatExtents {
  std::int64_t a, b, y;
};

ConcatExtents checked_extents(std::string_view where, const ConcatDims& d) {
  for (const std::int64_t extent : {d.rows, d.a, d.b}) {
    if (extent < 0) throw Error(ErrorKind::usage, str(where, ": negative extent ", extent));
  }
  std::int64_t row = 0;
  if (__builtin_add_overflow(d.a, d.b, &row)) {
    throw Error(ErrorKind::usage, str(where, ": more than 2^63 values in a row"));
  }
  return {checked_elements(where, {d.rows, d.a}), checked_elements(where, {d.rows, d.b}),
          checked_elements(where, {d.rows, row})};
}

// Row r of `values` values lies at to + r * to_pitch.
void copy_parts(float* to, std::int64_t to_pitch, const float* from, std::int64_t from_pitch,
                std::int64_t rows, std::int64_t values) {
  if (values == 0) return;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * to_pitch, from + r * from_pitch,
                static_cast<std::size_t>(values) * sizeof(float));
  }
}

}  // namespace

void concat(float* y, const float* a, const float* b, const ConcatDims& dims,
            const Stream& stream) {
  constexpr std::string_view kWhere = "concat";
  const ConcatExtents of = checked_extents(kWhere, dims);
  if (of.y == 0) return;
  check_call(kWhere, stream, {writes("y", y, of.y), reads("a", a, of.a), reads("b", b, of.b)});
  if (stream.device().is_cpu()) {
    copy_parts(y, dims.row(), a, dims.a, dims.rows, dims.a);
    copy_parts(y + dims.a, dims.row(), b, dims.b, dims.rows, dims.b);
    return;
  }
  WEFT_CUDA(cuda::concat)(y, a, b, dims, stream);
}

void split(float* a, float* b, const float* y, const ConcatDims& dims, const Stream& stream) {
  constexpr std::string_view kWhere = "split";
  const ConcatExtents of = checked_extents(kWhere, dims);
  if (of.y == 0) return;
  check_call(kWhere, stream,
             {writes("a", a, of.a).or_null(), writes("b", b, of.b).or_null(), reads("y", y, of.y)});
  if (a == nullptr && b == nullptr) return;
  if (stream.device().is_cpu()) {
    if (a != nullptr) copy_parts(a, dims.a, y, dims.row(), dims.rows, dims.a);
    if (b != nullptr) copy_parts(b, dims.b, y + dims.a, dims.row(), dims.rows, dims.b);
    return;
  }
  WEFT_CUDA(cuda::split)(a, b, y, dims, stream);
}

}  // namespace weft::kernels
