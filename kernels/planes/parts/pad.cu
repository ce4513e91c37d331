// SPDX-License-Identifier: MIT
// Padding and its gradient: a thread for each value that is written, neighbours along a row.
//
// Forward reads one pixel for each value. Backward gathers, so that it takes no atomics and its
// sums have a fixed order: a pixel is shown by its own place and by few others, but for those of an
// edge, which all of the padding beside them shows. Three divisions find the place of a value;
// planes are below 2^31 values, and a 64-bit division is made only where all of them together are
// not.
#include "kernels/planes/parts/launchers.h"

#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/planes/pad_places.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 20;

// The plane of a value, and its place in it. Index is 32 bits wide where it suffices.
template <class Index>
struct Place {
  std::int64_t plane;
  int row, column;

  __device__ __forceinline__ Place(Index at, int rows, int columns) {
    const Index size = static_cast<Index>(rows) * static_cast<Index>(columns);
    const Index whole = at / size;
    const unsigned rest = static_cast<unsigned>(at - whole * size);
    plane = static_cast<std::int64_t>(whole);
    row = static_cast<int>(rest / static_cast<unsigned>(columns));
    column = static_cast<int>(rest) - row * columns;
  }
};

template <class Index>
__global__ void __launch_bounds__(kThreads)
    pad_forward_kernel(float* __restrict__ y, const float* __restrict__ x, PadSide rows,
                       PadSide columns, Index count) {
  const Index step = static_cast<Index>(device::grid_threads());
  for (Index at = static_cast<Index>(device::global_thread()); at < count; at += step) {
    const Place<Index> place(at, rows.places(), columns.places());
    const int i = rows.pixel(place.row), j = columns.pixel(place.column);
    const std::int64_t first = place.plane * rows.extent * columns.extent;
    y[at] = i < 0 || j < 0 ? 0.0f : x[first + static_cast<std::int64_t>(i) * columns.extent + j];
  }
}

template <class Index>
__global__ void __launch_bounds__(kThreads)
    pad_backward_kernel(float* __restrict__ dx, const float* __restrict__ dy, PadSide rows,
                        PadSide columns, Index count, bool accumulate) {
  const Index step = static_cast<Index>(device::grid_threads());
  for (Index at = static_cast<Index>(device::global_thread()); at < count; at += step) {
    const Place<Index> place(at, rows.extent, columns.extent);
    const float* plane = dy + place.plane * rows.places() * columns.places();
    float sum = 0.0f;
#pragma unroll
    for (int above = 0; above < PadSide::kRuns; ++above) {
      const PadRun shown = rows.run(above, place.row);
      for (int p = shown.begin; p < shown.end; ++p) {
        const float* row = plane + static_cast<std::int64_t>(p) * columns.places();
#pragma unroll
        for (int beside = 0; beside < PadSide::kRuns; ++beside) {
          const PadRun run = columns.run(beside, place.column);
          for (int q = run.begin; q < run.end; ++q) sum += row[q];
        }
      }
    }
    dx[at] = accumulate ? dx[at] + sum : sum;
  }
}

Launch per_value(std::int64_t count, const Stream& stream) {
  return {blocks_for(count, kThreads, kMostBlocks), kThreads, 0, stream};
}

// An index that the last step of a grid leaves the range of would wrap around.
constexpr std::int64_t kMostNarrow = UINT32_MAX - kThreads * kMostBlocks;

}  // namespace

void pad_forward(float* y, const float* x, const PadDims& dims, const Stream& stream) {
  const std::int64_t count = dims.planes * dims.oh() * dims.ow();
  const Launch config = per_value(count, stream);
  const PadSide rows = pad_rows(dims), columns = pad_columns(dims);
  if (count < kMostNarrow) {
    launch(pad_forward_kernel<std::uint32_t>, config, y, x, rows, columns,
           static_cast<std::uint32_t>(count));
  } else {
    launch(pad_forward_kernel<std::int64_t>, config, y, x, rows, columns, count);
  }
}

void pad_backward(float* dx, const float* dy, const PadDims& dims, GradientMode mode,
                  const Stream& stream) {
  const std::int64_t count = dims.planes * dims.h * dims.w;
  const Launch config = per_value(count, stream);
  const PadSide rows = pad_rows(dims), columns = pad_columns(dims);
  const bool accumulate = mode == GradientMode::accumulate;
  if (count < kMostNarrow) {
    launch(pad_backward_kernel<std::uint32_t>, config, dx, dy, rows, columns,
           static_cast<std::uint32_t>(count), accumulate);
  } else {
    launch(pad_backward_kernel<std::int64_t>, config, dx, dy, rows, columns, count, accumulate);
  }
}

}  // namespace weft::kernels::cuda
