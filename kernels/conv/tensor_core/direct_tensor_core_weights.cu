// SPDX-License-Identifier: MIT
// Convolution, rung "direct_tensor_core": the weight gradient and the bias gradient.
//
// Rows of the product are filters, columns are (c, r, s), and k runs along the pixels of a block's
// images, which lie in shared memory: dy as (filter, image, pixel), so that it is A as it stands,
// and x as it came, or behind a border of zeros. A warp has 16 filters and kTiles x 8 columns;
// warps with the same share k between them, and their sums are added in order at the end. A block
// takes a chunk of images and writes one row of partial sums, which weight_gradient_sums.cu adds.
//
// The budget is for 256 images of LeNet's second layer, x (6, 14, 14) and 16 filters of 5 x 5: a
// chunk is one image, so there are 256 blocks. 100 pixels are 13 steps. 150 columns are 19 tiles
// for four warps, and eight warps share the steps. Each of the two blocks of an SM makes 19 x 13 x
// 3 products of 1.6 clocks, 2370 clocks together. A warp issues 78 instructions a step, for which
// its scheduler is busy with products for 96 clocks. 127 registers; 2.4 MB of partial sums.
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/conv/tensor_core/direct_operands.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/prefetch.cuh"
#include "kernels/device/warp.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

constexpr int kTiles = 5;  // of a warp
constexpr int kSumsOfWarp = 16 * 8 * kTiles;
constexpr std::int64_t kMostChunks = 264;  // as many as an H200 has places for blocks
constexpr std::int64_t kMostPixels = 400;  // of the images staged at once, unless one has more

struct WeightsProduct {
  int rows, columns, tile_groups;      // tile_groups: of kTiles x 8 columns
  int tasks, tasks_of_block, sharers;  // tasks: rows x columns of warps; sharers: warps of a task
  int depth, a_stride;                 // of a full set of images
  int images_at_once, image_stride, x_runs, plane_stride, row_stride;
  int line_step, column_step;  // from one pixel of y to the next, in the image
  int table_floats, bias_floats, a_floats, staged_floats;
  int x_floats, dy_floats;  // of an image in memory
  StagedRuns x, dy;
  FastDivide by_pixels, by_line, by_kernel_height, by_kernel_width;
  std::int64_t images, chunk_images, partial_row;
};

// A lane of a warp has sums of the filters row0 and row0 + 8 in kTiles tiles from tile0 on.
struct LanePlace {
  int group, member, row0, tile0;
};

// What a lane reads of A (rows, a_stride) and of the images. Rows and columns behind the last
// repeat it and are not stored.
__device__ __forceinline__ MmaOperands<kTiles> operands_of(const float* a, const float* staged,
                                                           const int2* table,
                                                           const WeightsProduct& p,
                                                           const LanePlace& at) {
  const int row0 = at.row0;
  const int above = min(row0, p.rows - 1), below = min(row0 + 8, p.rows - 1);
  MmaOperands<kTiles> from;
  from.a = a + above * p.a_stride + at.member;
  from.a_below = (below - above) * p.a_stride;
  from.table = table + at.member;
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    int s = 0, r = 0;
    const int column = min(8 * (at.tile0 + j) + at.group, p.columns - 1);
    const int c = p.by_kernel_height.divide(p.by_kernel_width.divide(column, s), r);
    from.b[j] = reinterpret_cast<const char*>(staged + c * p.plane_stride + r * p.row_stride + s);
  }
  return from;
}

// Adds the sums of the sharers in order, and stores the filters' rows. The quads of a sharer are
// `set` behind those of the one before it, and this lane's lie from `place` on, 32 apart.
__device__ __forceinline__ void store_tiles(float* partial, float (&sum)[kTiles][4],
                                            const float4* sums_of_sharers, int set, int place,
                                            const WeightsProduct& p, const LanePlace& at) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    for (int other = 0; other < p.sharers - 1; ++other) {
      const float4 more = sums_of_sharers[other * set + place + 32 * j];
      sum[j][0] += more.x;
      sum[j][1] += more.y;
      sum[j][2] += more.z;
      sum[j][3] += more.w;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = at.row0 + i / 2 * 8, column = 8 * (at.tile0 + j) + 2 * at.member + i % 2;
      if (row < p.rows && column < p.columns) partial[row * p.columns + column] = sum[j][i];
    }
  }
}

// Adds up the rows of A for the bias gradient: a warp has some rows, always the same ones.
__device__ __forceinline__ void add_bias_rows(float* bias_sums, const float* a,
                                              const WeightsProduct& p) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int row = warp; row < p.rows; row += kDirectMmaWarps) {
    float total = 0;
    for (int i = lane; i < p.depth; i += 32) total += a[row * p.a_stride + i];
    total = device::warp_reduce(total, device::Add{});
    if (lane == 0) bias_sums[row] += total;
  }
}

// Shared memory: the table, sums of dy, A (rows, a_stride), the images, the sums of sharers.
template <bool kSplit>
__global__ void __launch_bounds__(kDirectMmaThreads, kDirectMmaBlocks)
    weights_mma_kernel(float* partials, const float* dy, const float* x, WeightsProduct p) {
  device::overlap_allow();
  float4* shared4 = device::dynamic_shared<float4>();
  float* shared = reinterpret_cast<float*>(shared4);
  int2* table = reinterpret_cast<int2*>(shared);
  float* bias_sums = shared + p.table_floats;
  float* a = bias_sums + p.bias_floats;
  float* staged = a + p.a_floats;
  float4* sums_of_sharers = reinterpret_cast<float4*>(staged + p.staged_floats);

  const int task_blocks = divide_up(p.tasks, p.tasks_of_block);
  const int task0 = static_cast<int>(blockIdx.x % task_blocks) * p.tasks_of_block;
  const std::int64_t chunk = blockIdx.x / task_blocks;
  const std::int64_t begin = chunk * p.chunk_images;
  const std::int64_t end = min(begin + p.chunk_images, p.images);
  if (threadIdx.x == 0) {
    const int images = static_cast<int>(min(end - begin, std::int64_t{p.images_at_once}));
    device::prefetch(dy + begin * p.dy_floats, images * p.dy_floats);
    device::prefetch(x + begin * p.x_floats, images * p.x_floats);
  }
  make_table(table, p.depth, [&](int k) {
    int pixel = 0, along = 0;
    const int image = p.by_pixels.divide(k, pixel);
    const int line = p.by_line.divide(pixel, along);
    return image * p.image_stride + line * p.line_step + along * p.column_step;
  });
  const int floats = p.bias_floats + p.a_floats + p.staged_floats;
  for (int i = threadIdx.x; i < floats / 4; i += kDirectMmaThreads) {
    reinterpret_cast<float4*>(bias_sums)[i] = {0, 0, 0, 0};
  }

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int group = lane / 4, member = lane % 4;
  const int share = warp / p.tasks_of_block, task = task0 + warp % p.tasks_of_block;
  const bool works = share < p.sharers && task < p.tasks;
  const LanePlace at{group, member, task / p.tile_groups * 16 + group,
                     task % p.tile_groups * kTiles};
  const MmaOperands<kTiles> from = operands_of(a, staged, table, p, at);
  const int steps = divide_up(p.depth, 8);
  const int first_step = works ? share * steps / p.sharers : 0;
  const int last_step = works ? (share + 1) * steps / p.sharers : 0;

  float sum[kTiles][4] = {};
  __syncthreads();  // zeros before pixels
  device::overlap_wait();
  for (std::int64_t n = begin; n < end; n += p.images_at_once) {
    const int images = static_cast<int>(min(end - n, std::int64_t{p.images_at_once}));
    p.dy.copy(a, dy + n * p.dy_floats, images * p.rows, p.images_at_once * p.rows);
    p.x.copy(staged, x + n * p.x_floats, images * p.x_runs, p.images_at_once * p.x_runs);
    device::async_commit();
    device::async_wait<0>();
    __syncthreads();
    multiply_steps<kSplit>(sum, from, first_step, last_step);
    if (task0 == 0) add_bias_rows(bias_sums, a, p);
    if (n + p.images_at_once < end) __syncthreads();  // before the next images overwrite these
  }

  // The first warp of a task adds the sums of the others.
  const int place = (warp % p.tasks_of_block) * kTiles * 32 + lane;
  const int set = p.tasks_of_block * kTiles * 32;
  if (works && share > 0) {
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      sums_of_sharers[(share - 1) * set + place + 32 * j] = {sum[j][0], sum[j][1], sum[j][2],
                                                             sum[j][3]};
    }
  }
  __syncthreads();  // sums of sharers and of dy are there
  float* partial = partials + chunk * p.partial_row;
  if (works && share == 0) store_tiles(partial, sum, sums_of_sharers, set, place, p, at);
  if (task0 == 0) {
    partial += p.rows * p.columns;
    for (int i = threadIdx.x; i < p.rows; i += kDirectMmaThreads) partial[i] = bias_sums[i];
  }
}

// How the work is cut; `images` are staged at once.
struct WeightsCut {
  std::int64_t tile_groups, tasks, tasks_of_block, sharers;
  StagedImage staged;
  std::int64_t pixels, filters;

  explicit WeightsCut(const ConvDims& d)
      : tile_groups(divide_up(d.c * d.kh * d.kw, 8 * kTiles)),
        tasks(tile_groups * divide_up(d.oc, 16)),
        tasks_of_block(std::min<std::int64_t>(tasks, kDirectMmaWarps)),
        sharers(kDirectMmaWarps / tasks_of_block),
        staged(d),
        pixels(d.oh() * d.ow()),
        filters(d.oc) {}
  std::int64_t depth(std::int64_t images) const { return images * pixels; }
  std::int64_t bias_floats() const { return round_up(filters, 4); }
  std::int64_t a_floats(std::int64_t images) const {
    return filters * stride_of_rows(depth(images));
  }
  std::int64_t staged_floats(std::int64_t images) const {
    return round_up(images * staged.image_stride, 4);
  }
  std::int64_t shared_bytes(std::int64_t images) const {
    return 4 * (table_floats(depth(images)) + bias_floats() + a_floats(images) +
                staged_floats(images) + (sharers - 1) * tasks_of_block * kSumsOfWarp);
  }
  std::int64_t images_at_once(std::int64_t chunk) const {
    std::int64_t images = std::max<std::int64_t>(1, std::min(chunk, kMostPixels / pixels));
    while (images > 1 && shared_bytes(images) > kDirectMmaSharedBytes) --images;
    return images;
  }
};

}  // namespace

bool direct_tensor_core_weights_fit(const ConvDims& dims) {
  return dims.oc > 0 && dims.c > 0 && WeightsCut(dims).shared_bytes(1) <= kDirectMmaSharedBytes;
}

void conv2d_backward_weights_direct_tensor_core(float* dw, float* db, const float* dy,
                                                const float* x, const ConvDims& d,
                                                GradientMode mode, const ConvOptions& options,
                                                Workspace workspace, const Stream& stream) {
  const WeightChunks chunks = weight_chunks(d, kMostChunks);
  auto* partials = static_cast<float*>(workspace.data);
  const WeightsCut cut(d);
  const std::int64_t images = cut.images_at_once(chunks.images);
  const StagedImage& staged = cut.staged;
  WeightsProduct p{};
  p.rows = narrow(d.oc);
  p.columns = narrow(d.c * d.kh * d.kw);
  p.tile_groups = narrow(cut.tile_groups);
  p.tasks = narrow(cut.tasks);
  p.tasks_of_block = narrow(cut.tasks_of_block);
  p.sharers = narrow(cut.sharers);
  p.depth = narrow(cut.depth(images));
  p.a_stride = narrow(stride_of_rows(p.depth));
  p.images_at_once = narrow(images);
  p.image_stride = narrow(staged.image_stride);
  p.x_runs = narrow(StagedImage::runs_of_image(d));
  p.plane_stride = narrow(staged.plane_stride);
  p.row_stride = narrow(staged.row_stride);
  p.line_step = narrow(window_step(d.stride_h, d.h + 2 * d.pad_h) * staged.row_stride);
  p.column_step = narrow(window_step(d.stride_w, d.w + 2 * d.pad_w));
  p.table_floats = narrow(table_floats(p.depth));
  p.bias_floats = narrow(cut.bias_floats());
  p.a_floats = narrow(cut.a_floats(images));
  p.staged_floats = narrow(cut.staged_floats(images));
  p.x_floats = narrow(d.c * d.h * d.w);
  p.dy_floats = narrow(d.oc * cut.pixels);
  p.x = staged.runs(x, d);
  p.dy = StagedRuns(dy, cut.pixels, p.a_stride, 0, d.oc, cut.pixels);
  p.by_pixels = FastDivide(cut.pixels);
  p.by_line = FastDivide(d.ow());
  p.by_kernel_height = FastDivide(d.kh);
  p.by_kernel_width = FastDivide(d.kw);
  p.images = d.n;
  p.chunk_images = chunks.images;
  p.partial_row = chunks.row;
  const std::int64_t blocks = chunks.count * divide_up(cut.tasks, cut.tasks_of_block);
  const Launch config{dim3(static_cast<unsigned>(blocks)), dim3(kDirectMmaThreads),
                      static_cast<std::size_t>(cut.shared_bytes(images)), stream};
  const auto kernel =
      options.mode == ComputeMode::fp32 ? weights_mma_kernel<true> : weights_mma_kernel<false>;
  launch(kernel, config.overlapped(), partials, dy, x, p);
  sum_partials(dw, chunks.weights, db, db != nullptr ? d.oc : 0, partials, chunks.count, chunks.row,
               mode, stream);
}

}  // namespace weft::kernels::cuda
