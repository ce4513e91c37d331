// SPDX-License-Identifier: MIT
// The two ceilings of a GPU: a loop of fused multiply-adds in registers, and a sum that reads
// memory once. Neither is a kernel of the product.
#include <algorithm>

#include "engine/launch.h"

namespace weft::measure {
namespace {

constexpr int kThreads = 256, kChains = 8, kRounds = 4096;

// Eight independent chains hide the latency of the multiply-add.
__global__ void fma_chains(float* out) {
  float chain[kChains];
  for (int c = 0; c < kChains; ++c) chain[c] = static_cast<float>(threadIdx.x + c);
#pragma unroll 16
  for (int i = 0; i < kRounds; ++i) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) chain[c] = fmaf(chain[c], 0.999f, 0.5f);
  }
  float total = 0;
  for (int c = 0; c < kChains; ++c) total += chain[c];
  if (total == -1.0f) *out = total;  // never: the chains stay positive
}

__global__ void read_all(float* out, const float4* x, std::int64_t n) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  float total = 0;
  std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i + 3 * stride < n; i += 4 * stride) {
    const float4 a = x[i], b = x[i + stride], c = x[i + 2 * stride], d = x[i + 3 * stride];
    total += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
    total += c.x + c.y + c.z + c.w + d.x + d.y + d.z + d.w;
  }
  for (; i < n; i += stride) total += x[i].x + x[i].y + x[i].z + x[i].w;
  if (total == -1.0f) *out = total;  // the loads must happen; what is read is zero
}

}  // namespace

double cuda_fma_loop(const Stream& stream) {
  const unsigned blocks =
      static_cast<unsigned>(8 * device_properties(stream.device()).multiprocessors);
  launch(fma_chains, {blocks, kThreads, 0, stream}, nullptr);
  return 2.0 * kChains * kRounds * kThreads * blocks;
}

void cuda_sum_loop(float* out, const float* x, std::int64_t n, const Stream& stream) {
  const unsigned blocks =
      static_cast<unsigned>(8 * device_properties(stream.device()).multiprocessors);
  launch(read_all, {blocks, kThreads, 0, stream}, out, reinterpret_cast<const float4*>(x), n / 4);
}

}  // namespace weft::measure
