// SPDX-License-Identifier: MIT
// GEMM, rung "wgmma_tf32": fp32 operands, rounded to tf32 by the copy engine. sm_90a. The pipeline
// is told in wgmma.cuh.
//
// For this type the tensor core reads operands only along k. One that lies along m or n is
// transposed first into scratch memory from the stream's pool: 8 bytes of traffic per element, 1 to
// 20 % of the whole from 8192 down to 1024 cubed. So is one whose rows are not aligned for TMA.
#include "kernels/gemm/wgmma.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kSide = 64;  // of the tiles that are transposed

// to (columns, rows) = the transpose of from (rows, columns). Rows of `to` are aligned to 16 bytes
// and may be written up to ld_to, a multiple of 4.
__global__ void __launch_bounds__(256)
    transpose_kernel(float* __restrict__ to, std::int64_t ld_to, const float* __restrict__ from,
                     std::int64_t ld_from, std::int64_t rows, std::int64_t columns,
                     std::int64_t column_tiles, bool vector) {
  __shared__ float tile[kSide][kSide + 1];
  const std::int64_t row0 = blockIdx.x / column_tiles * kSide;
  const std::int64_t column0 = blockIdx.x % column_tiles * kSide;
  const int quad = threadIdx.x % 16 * 4, line = threadIdx.x / 16;
#pragma unroll
  for (int i = line; i < kSide; i += 16) {
    const std::int64_t row = row0 + i, column = column0 + quad;
    float4 value{};
    if (row < rows && column < columns) {
      const float* source = from + row * ld_from + column;
      if (vector && column + 3 < columns) {
        value = *reinterpret_cast<const float4*>(source);
      } else {
        value.x = source[0];
        if (column + 1 < columns) value.y = source[1];
        if (column + 2 < columns) value.z = source[2];
        if (column + 3 < columns) value.w = source[3];
      }
    }
    tile[i][quad] = value.x, tile[i][quad + 1] = value.y;
    tile[i][quad + 2] = value.z, tile[i][quad + 3] = value.w;
  }
  __syncthreads();  // the tile is whole
#pragma unroll
  for (int i = line; i < kSide; i += 16) {
    const std::int64_t column = column0 + i, row = row0 + quad;
    if (column < columns && row < rows) {
      *reinterpret_cast<float4*>(to + column * ld_to + row) = {
          tile[quad][i], tile[quad + 1][i], tile[quad + 2][i], tile[quad + 3][i]};
    }
  }
}

struct KMajor {
  const float* data;
  std::int64_t ld;
};

// The operand (extent, k) with rows along k that TMA can read: itself, or a copy in `scratch`.
KMajor k_major(const float* operand, std::int64_t extent, std::int64_t k, std::int64_t ld,
               bool along_k, Buffer& scratch, const Stream& stream) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(operand) % 16 == 0 && ld % 4 == 0;
  if (along_k && aligned) return {operand, ld};
  const std::int64_t row = (k + 3) / 4 * 4;
  scratch = Buffer(static_cast<std::size_t>(extent * row) * sizeof(float), stream);
  auto* to = static_cast<float*>(scratch.data());
  if (along_k) {
    cuda_check(cudaMemcpy2DAsync(to, static_cast<std::size_t>(row) * 4, operand,
                                 static_cast<std::size_t>(ld) * 4, static_cast<std::size_t>(k) * 4,
                                 static_cast<std::size_t>(extent), cudaMemcpyDeviceToDevice,
                                 stream.native()),
               "align an operand");
  } else {
    const std::int64_t column_tiles = (extent + kSide - 1) / kSide;
    const auto blocks = static_cast<unsigned>((k + kSide - 1) / kSide * column_tiles);
    launch(transpose_kernel, {blocks, 256, 0, stream}, to, row, operand, ld, k, extent,
           column_tiles, aligned);
  }
  return {to, row};
}

}  // namespace

void gemm_wgmma_tf32(float* c, const float* a, const float* b, const float* bias,
                     const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  Buffer scratch_a, scratch_b;
  const KMajor left = k_major(a, dims.m, dims.k, dims.lda, !dims.transpose_a, scratch_a, stream);
  const KMajor right = k_major(b, dims.n, dims.k, dims.ldb, dims.transpose_b, scratch_b, stream);
  GemmDims d = dims;
  d.lda = left.ld;
  d.ldb = right.ld;
  const auto out = wgmma_output(c, bias, dims, options);
  const auto run = [&](auto tile) {
    launch_wgmma<decltype(tile)>(out, left.data, right.data, d, stream);
  };
  switch (wgmma_width(dims, stream)) {
    case 64:
      return run(WgmmaTile<float, 64, false, true, 1>{});
    case 128:
      return run(WgmmaTile<float, 128, false, true, 1>{});
    default:
      if (wgmma_clusters(dims, stream)) return run(WgmmaTile<float, 256, false, true, 2>{});
      return run(WgmmaTile<float, 256, false, true, 1>{});
  }
}

}  // namespace weft::kernels::cuda
