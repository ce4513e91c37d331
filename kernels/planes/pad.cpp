// SPDX-License-Identifier: MIT
// The validation of padding, its one way on each device, and that of the CPU.
#include "kernels/planes/pad.h"

#include <cstring>

#include "kernels/checks.h"
#include "kernels/planes/pad_places.h"
#include "kernels/planes/parts/launchers.h"

namespace weft::kernels {

namespace {

constexpr std::int64_t kWorthThreads = 1 << 16;  // values

std::string describe(const PadDims& d) {
  return str("pad of (", d.planes, ", ", d.h, ", ", d.w, ") by ", d.top, " above, ", d.left,
             " to the left, ", d.bottom, " below, ", d.right, " to the right");
}

struct PadExtents {
  std::int64_t x, y;
};

PadExtents checked_extents(std::string_view where, const PadDims& d) {
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw Error(ErrorKind::usage, str(where, ": ", describe(d), ": ", what));
  };
  check_enumerator(where, "dims.mode", d.mode, PadMode::edge);
  for (const std::int64_t extent : {d.planes, d.h, d.w, d.top, d.left, d.bottom, d.right}) {
    require(extent >= 0, "an extent must not be negative");
  }
  constexpr std::int64_t kMostExtent = 1 << 24;  // places in a plane are of 32 bits
  for (const std::int64_t extent : {d.h, d.w, d.top, d.left, d.bottom, d.right}) {
    require(extent <= kMostExtent, "an extent is too large");
  }
  require(d.oh() * d.ow() <= INT32_MAX, "a plane is too large");
  require(d.mode == PadMode::zero || (d.h > 0 && d.w > 0), "a plane without values has no edge");
  require(d.mode != PadMode::reflect ||
              (d.top < d.h && d.bottom < d.h && d.left < d.w && d.right < d.w),
          "a reflection needs planes larger than their padding");
  return {checked_elements(where, {d.planes, d.h, d.w}),
          checked_elements(where, {d.planes, d.oh(), d.ow()})};
}

void pad_forward_cpu(float* y, const float* x, const PadDims& d) {
  const PadSide rows = pad_rows(d), columns = pad_columns(d);
  const std::int64_t oh = d.oh(), ow = d.ow();
#pragma omp parallel for schedule(static) if (d.planes * oh * ow > kWorthThreads)
  for (std::int64_t at = 0; at < d.planes * oh; ++at) {
    float* to = y + at * ow;
    const int row = rows.pixel(static_cast<int>(at % oh));
    const float* from = x + (at / oh * d.h + row) * d.w;
    if (row < 0 || d.w == 0) {
      std::memset(to, 0, static_cast<std::size_t>(ow) * sizeof(float));
      continue;
    }
    const auto copy_pixel = [&](std::int64_t place) {
      const int column = columns.pixel(static_cast<int>(place));
      to[place] = column < 0 ? 0.0f : from[column];
    };
    for (std::int64_t place = 0; place < d.left; ++place) copy_pixel(place);
    std::memcpy(to + d.left, from, static_cast<std::size_t>(d.w) * sizeof(float));
    for (std::int64_t place = d.left + d.w; place < ow; ++place) copy_pixel(place);
  }
}

// The sum of the places of one row of dy that show a pixel.
float sum_of_row(const float* row, const PadSide& columns, int pixel, float sum) {
  for (int beside = 0; beside < PadSide::kRuns; ++beside) {
    const PadRun run = columns.run(beside, pixel);
    for (int place = run.begin; place < run.end; ++place) sum += row[place];
  }
  return sum;
}

void pad_backward_cpu(float* dx, const float* dy, const PadDims& d, GradientMode mode) {
  const PadSide rows = pad_rows(d), columns = pad_columns(d);
  const std::int64_t ow = d.ow();
#pragma omp parallel for schedule(static) if (d.planes * d.h * d.w > kWorthThreads)
  for (std::int64_t at = 0; at < d.planes * d.h; ++at) {
    const float* plane = dy + at / d.h * d.oh() * ow;
    for (int column = 0; column < d.w; ++column) {
      float sum = 0;
      for (int above = 0; above < PadSide::kRuns; ++above) {
        const PadRun run = rows.run(above, static_cast<int>(at % d.h));
        for (std::int64_t place = run.begin; place < run.end; ++place) {
          sum = sum_of_row(plane + place * ow, columns, column, sum);
        }
      }
      float& to = dx[at * d.w + column];
      to = mode == GradientMode::accumulate ? to + sum : sum;
    }
  }
}

}  // namespace

void pad_forward(float* y, const float* x, const PadDims& dims, const Stream& stream) {
  constexpr std::string_view kWhere = "pad_forward";
  const PadExtents of = checked_extents(kWhere, dims);
  if (of.y == 0) return;
  check_call(kWhere, stream, {writes("y", y, of.y), reads("x", x, of.x)});
  if (stream.device().is_cpu()) return pad_forward_cpu(y, x, dims);
  WEFT_CUDA(cuda::pad_forward)(y, x, dims, stream);
}

void pad_backward(float* dx, const float* dy, const PadDims& dims, GradientMode mode,
                  const Stream& stream) {
  constexpr std::string_view kWhere = "pad_backward";
  check_mode(kWhere, mode);
  const PadExtents of = checked_extents(kWhere, dims);
  if (of.x == 0) return;
  check_call(kWhere, stream, {writes("dx", dx, of.x), reads("dy", dy, of.y)});
  if (stream.device().is_cpu()) return pad_backward_cpu(dx, dy, dims, mode);
  WEFT_CUDA(cuda::pad_backward)(dx, dy, dims, mode, stream);
}

}  // namespace weft::kernels
