// SPDX-License-Identifier: MIT
// Convolution, rung "implicit_gemm": the three passes as register-tiled products whose operands are
// gathered from the images on the way into shared memory. The column matrix of im2col never exists.
//
//                    rows (m)    columns (n)            sum over (k)
//   forward          filters     output pixels, all n   taps (c, r, s)
//   backward data    channels    input pixels, all n    taps (o, r, s)
//   backward weights filters     taps (c, r, s)         output pixels of a chunk of images
//
// Lanes run along the pixels wherever images are read, so that loads coalesce, and a thread splits
// its pixel or tap into coordinates once, outside of the loop, on the side that stays fixed.
// The tiles are those of device/register_tile.cuh: 64 x 128 with 8 x 8 sums a thread, or 32 x 128
// with 4 x 8 for few rows, 128 threads each, 13 KiB of shared memory. The third pass is in
// implicit_gemm_weights.cu.
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/launchers.h"
#include "kernels/conv/parts/implicit_gemm_geometry.cuh"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/device/register_tile.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;
using Tile64 = device::RegisterTile<64, 128, 8, 8, 8>;
using Tile32 = device::RegisterTile<32, 128, 8, 4, 8>;

// Stores quads of neighbouring pixels to (image, plane, pixel).
struct PixelStore {
  float* to;  // (images, planes, pixels)
  int planes, columns;
  FastDivide by_pixels;
  const float* bias;  // (planes,) or null
  bool relu, accumulate, vector;

  __device__ __forceinline__ float finished(float value, float bias_value, float old) const {
    value += bias_value;
    if (accumulate) value += old;
    return relu && value < 0 ? 0.0f : value;
  }
  __device__ __forceinline__ void operator()(int row, int column, float4 quad) const {
    if (row >= planes || column >= columns) return;
    int pixel = 0;
    const std::int64_t image = by_pixels.divide(column, pixel);
    const int pixels = by_pixels.divisor();
    const float offset = bias != nullptr ? bias[row] : 0.0f;
    float* at = to + (image * planes + row) * pixels + pixel;
    if (vector) {  // pixels % 4 == 0: the quad lies in one plane, and columns % 4 == 0
      float4 old = {};
      if (accumulate) old = *reinterpret_cast<const float4*>(at);
      *reinterpret_cast<float4*>(at) = {
          finished(quad.x, offset, old.x), finished(quad.y, offset, old.y),
          finished(quad.z, offset, old.z), finished(quad.w, offset, old.w)};
      return;
    }
    const float values[4] = {quad.x, quad.y, quad.z, quad.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (column + i >= columns) break;
      *at = finished(values[i], offset, accumulate ? *at : 0.0f);
      ++at;
      if (++pixel == pixels) {  // on to the same plane of the next image
        pixel = 0;
        at += static_cast<std::int64_t>(planes - 1) * pixels;
      }
    }
  }
};

// Forward: rows are filters, columns output pixels, k taps (c, r, s).
struct ForwardProblem {
  ConvGeometry g;
  const float* x;  // (n, c, h, w)
  const float* w;  // (oc, c kh kw)
  PixelStore store;
  int rows, depth, row_tiles;

  template <class Tile>
  using MapA = device::TileMap<Tile::kM, Tile::kK, Tile::kThreads, true>;
  template <class Tile>
  using MapB = device::TileMap<Tile::kN, Tile::kK, Tile::kThreads, false>;

  template <class Tile>
  struct StreamA : device::MatrixStream<MapA<Tile>, Tile::kK, true> {
    __device__ StreamA(const ForwardProblem& p, int row0)
        : device::MatrixStream<MapA<Tile>, Tile::kK, true>(p.w, row0, p.rows, p.depth) {}
    __device__ __forceinline__ void load(const ForwardProblem&, float (&v)[MapA<Tile>::kCount], int,
                                         int left) {
      device::MatrixStream<MapA<Tile>, Tile::kK, true>::load(v, left);
    }
  };

  template <class Tile>
  struct StreamB {
    MapB<Tile> map;
    const float* image;  // x of this thread's image
    int top, left;       // of its output pixel's window

    __device__ StreamB(const ForwardProblem& p, int column0) : map(threadIdx.x) {
      const int column = min(column0 + map.x, p.store.columns - 1);  // columns beyond are unused
      int pixel = 0, q = 0;
      const std::int64_t n = p.g.by_output.divide(column, pixel);
      const int row = p.g.by_out_width.divide(pixel, q);
      image = p.x + n * p.g.channels * p.g.input_plane();
      top = row * p.g.stride_h - p.g.pad_h;
      left = q * p.g.stride_w - p.g.pad_w;
    }
    __device__ __forceinline__ void load(const ForwardProblem& p, float (&v)[MapB<Tile>::kCount],
                                         int k0, int) {
#pragma unroll
      for (int e = 0; e < MapB<Tile>::kCount; ++e) {
        const int k = k0 + map.k + e * MapB<Tile>::kStepK;
        int tap = 0, s = 0;
        const int c = p.g.by_taps.divide(k, tap);
        const int r = p.g.by_kernel_width.divide(tap, s);
        const int i = top + r, j = left + s;
        const bool inside = k < p.depth && static_cast<unsigned>(i) < unsigned(p.g.height) &&
                            static_cast<unsigned>(j) < unsigned(p.g.width);
        v[e] = inside ? __ldg(image + (c * p.g.height + i) * p.g.width + j) : 0.0f;
      }
    }
  };
};

// Backward data: rows are channels, columns input pixels, k taps (o, r, s).
struct BackwardDataProblem {
  ConvGeometry g;
  const float* dy;  // (n, oc, oh, ow)
  const float* w;   // (oc, c, kh, kw)
  PixelStore store;
  int rows, depth, row_tiles;

  template <class Tile>
  using MapA = device::TileMap<Tile::kM, Tile::kK, Tile::kThreads, false>;
  template <class Tile>
  using MapB = device::TileMap<Tile::kN, Tile::kK, Tile::kThreads, false>;

  template <class Tile>
  struct StreamA {
    MapA<Tile> map;
    const float* channel;  // w of filter 0 and this thread's channel
    bool inside_rows;

    __device__ StreamA(const BackwardDataProblem& p, int row0) : map(threadIdx.x) {
      const int row = row0 + map.x;
      inside_rows = row < p.rows;
      channel = p.w + (inside_rows ? row : 0) * p.g.taps();
    }
    __device__ __forceinline__ void load(const BackwardDataProblem& p,
                                         float (&v)[MapA<Tile>::kCount], int k0, int) {
#pragma unroll
      for (int e = 0; e < MapA<Tile>::kCount; ++e) {
        const int k = k0 + map.k + e * MapA<Tile>::kStepK;
        int tap = 0;
        const std::int64_t o = p.g.by_taps.divide(k, tap);
        v[e] = inside_rows && k < p.depth ? __ldg(channel + o * p.g.channels * p.g.taps() + tap)
                                          : 0.0f;
      }
    }
  };

  template <class Tile>
  struct StreamB {
    MapB<Tile> map;
    const float* image;  // dy of this thread's image
    int bottom, right;   // padded row and column of its input pixel

    __device__ StreamB(const BackwardDataProblem& p, int column0) : map(threadIdx.x) {
      const int column = min(column0 + map.x, p.store.columns - 1);  // columns beyond are unused
      int pixel = 0, j = 0;
      const std::int64_t n = p.g.by_input.divide(column, pixel);
      const int i = p.g.by_width.divide(pixel, j);
      image = p.dy + n * p.g.filters * p.g.output_plane();
      bottom = i + p.g.pad_h;
      right = j + p.g.pad_w;
    }
    __device__ __forceinline__ void load(const BackwardDataProblem& p,
                                         float (&v)[MapB<Tile>::kCount], int k0, int) {
      const bool strided = p.g.stride_h != 1 || p.g.stride_w != 1;
#pragma unroll
      for (int e = 0; e < MapB<Tile>::kCount; ++e) {
        const int k = k0 + map.k + e * MapB<Tile>::kStepK;
        int tap = 0, s = 0;
        const int o = p.g.by_taps.divide(k, tap);
        const int r = p.g.by_kernel_width.divide(tap, s);
        int row = bottom - r, column = right - s;  // of dy, times the stride
        bool inside = k < p.depth && row >= 0 && column >= 0;
        if (strided && inside) {
          int row_rest = 0, column_rest = 0;
          row = p.g.by_stride_h.divide(row, row_rest);
          column = p.g.by_stride_w.divide(column, column_rest);
          inside = row_rest == 0 && column_rest == 0;
        }
        inside = inside && row < p.g.out_height && column < p.g.out_width;
        v[e] = inside ? __ldg(image + (o * p.g.out_height + row) * p.g.out_width + column) : 0.0f;
      }
    }
  };
};

// Forward and backward data: one block makes one tile of (planes, pixels).
template <class Tile, class Problem>
__global__ void __launch_bounds__(Tile::kThreads, 512 / Tile::kThreads)
    implicit_gemm_kernel(Problem problem) {
  alignas(16) __shared__ float shared[Tile::kSharedFloats];  // 2 x (A (kK, kM+4), B (kK, kN+4))
  const int row0 = static_cast<int>(blockIdx.x % problem.row_tiles) * Tile::kM;
  const int column0 = static_cast<int>(blockIdx.x / problem.row_tiles) * Tile::kN;
  typename Problem::template StreamA<Tile> a_stream(problem, row0);
  typename Problem::template StreamB<Tile> b_stream(problem, column0);
  const device::TilePlace<Tile> place(threadIdx.x);

  float a_next[Problem::template MapA<Tile>::kCount], b_next[Problem::template MapB<Tile>::kCount];
  const auto load = [&](int k0) {
    a_stream.load(problem, a_next, k0, problem.depth - k0);
    b_stream.load(problem, b_next, k0, problem.depth - k0);
  };
  const auto store = [&](float* stage) {
    a_stream.map.template store<Tile::kStrideA>(stage, a_next);
    b_stream.map.template store<Tile::kStrideB>(stage + Tile::kK * Tile::kStrideA, b_next);
  };

  float sum[Tile::kThreadM][Tile::kThreadN] = {};
  load(0);
  store(shared);
  __syncthreads();
  int stage = 0;
  for (int k0 = 0; k0 < problem.depth; k0 += Tile::kK) {
    const bool more = problem.depth - k0 > Tile::kK;
    if (more) load(k0 + Tile::kK);
    device::multiply_chunk<Tile>(sum, shared + stage * Tile::kStageFloats, place);
    stage ^= 1;
    if (more) store(shared + stage * Tile::kStageFloats);
    __syncthreads();  // the next stage is written, and this one free
  }
  device::store_tile<Tile>(sum, shared, place, [&](int row, int column, float4 quad) {
    problem.store(row0 + row, column0 + column, quad);
  });
}

template <class Tile, class Problem>
void launch_tile(Problem problem, const Stream& stream) {
  problem.row_tiles = divide_up(problem.rows, Tile::kM);
  const std::int64_t column_tiles = divide_up(std::int64_t{problem.store.columns}, Tile::kN);
  const Launch config{dim3(static_cast<unsigned>(problem.row_tiles * column_tiles)),
                      dim3(Tile::kThreads), 0, stream};
  launch(implicit_gemm_kernel<Tile, Problem>, config, problem);
}

// Runs `start(first image, images)` for groups of images with fewer than 2^30 pixels in all.
template <class Start>
void for_image_groups(std::int64_t n, std::int64_t pixels, const Start& start) {
  const std::int64_t group = std::max(std::int64_t{1}, (std::int64_t{1} << 30) / pixels);
  for (std::int64_t first = 0; first < n; first += group) start(first, std::min(group, n - first));
}

bool vector_planes(const float* to, std::int64_t pixels) {
  return reinterpret_cast<std::uintptr_t>(to) % 16 == 0 && pixels % 4 == 0;
}

template <class Problem>
void launch_problem(const Problem& problem, const Stream& stream) {
  if (problem.rows <= 32) {
    launch_tile<Tile32>(problem, stream);
  } else {
    launch_tile<Tile64>(problem, stream);
  }
}

}  // namespace

void conv2d_forward_implicit_gemm(float* y, const float* x, const float* w, const float* bias,
                                  const ConvDims& dims, Epilogue epilogue, const ConvOptions&,
                                  Workspace, const Stream& stream) {
  const std::int64_t pixels = dims.oh() * dims.ow();
  for_image_groups(dims.n, pixels, [&](std::int64_t first, std::int64_t images) {
    ForwardProblem problem{};
    problem.g = conv_geometry(dims);
    problem.x = x + first * dims.c * dims.h * dims.w;
    problem.w = w;
    float* to = y + first * dims.oc * pixels;
    problem.store = {to,
                     static_cast<int>(dims.oc),
                     static_cast<int>(images * pixels),
                     FastDivide(pixels),
                     bias,
                     epilogue == Epilogue::relu,
                     false,
                     vector_planes(to, pixels)};
    problem.rows = static_cast<int>(dims.oc);
    problem.depth = static_cast<int>(dims.c * dims.kh * dims.kw);
    launch_problem(problem, stream);
  });
}

void conv2d_backward_data_implicit_gemm(float* dx, const float* dy, const float* w,
                                        const ConvDims& dims, GradientMode mode, const ConvOptions&,
                                        Workspace, const Stream& stream) {
  const std::int64_t pixels = dims.h * dims.w;
  for_image_groups(dims.n, pixels, [&](std::int64_t first, std::int64_t images) {
    BackwardDataProblem problem{};
    problem.g = conv_geometry(dims);
    problem.dy = dy + first * dims.oc * dims.oh() * dims.ow();
    problem.w = w;
    float* to = dx + first * dims.c * pixels;
    problem.store = {to,
                     static_cast<int>(dims.c),
                     static_cast<int>(images * pixels),
                     FastDivide(pixels),
                     nullptr,
                     false,
                     mode == GradientMode::accumulate,
                     vector_planes(to, pixels)};
    problem.rows = static_cast<int>(dims.c);
    problem.depth = static_cast<int>(dims.oc * dims.kh * dims.kw);
    launch_problem(problem, stream);
  });
}

}  // namespace weft::kernels::cuda
