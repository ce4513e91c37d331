// SPDX-License-Identifier: MIT
#include "kernels/gemm/table.h"

#include <array>
#include <string>

#include "engine/error.h"
#include "kernels/hopper.h"

namespace weft::kernels {
namespace {

constexpr bool kRounds = true;

constexpr std::array<GemmRow, 23> kRows{{
    {GemmVariant::naive,
     {.name = "naive",
      .summary = "three loops, one output element per thread: every operand comes from memory",
      .on_cpu = true,
      .on_cuda = true}},
    {GemmVariant::packed,
     {.name = "packed",
      .summary = "panels packed for the cache, a register tile of vectors in the innermost loop",
      .on_cpu = true}},
    {GemmVariant::strip_k1,
     {.name = "strip_k1",
      .summary = "a block is a vector of neighbouring columns, 32 to 256 wide",
      .on_cuda = true}},
    {GemmVariant::strip_k2,
     {.name = "strip_k2",
      .summary = "a strip of the left operand is staged in shared memory",
      .on_cuda = true}},
    {GemmVariant::strip_k3,
     {.name = "strip_k3",
      .summary = "2 or 4 results in a row for each thread: left elements are used again",
      .on_cuda = true}},
    {GemmVariant::strip_k4,
     {.name = "strip_k4",
      .summary = "2 or 4 results in a column for each thread: right elements are used again",
      .on_cuda = true}},
    {GemmVariant::strip_k3k4,
     {.name = "strip_k3k4",
      .summary = "both: 4 columns by 2 or 4 rows of results for each thread",
      .on_cuda = true}},
    {GemmVariant::tiled,
     {.name = "tiled",
      .summary = "square tiles in shared memory: each operand is loaded once per tile",
      .on_cuda = true}},
    {GemmVariant::register_tiled,
     {.name = "register_tiled",
      .summary = "each thread owns a tile of outputs in registers: more arithmetic per load",
      .on_cuda = true}},
    {GemmVariant::vectorized,
     {.name = "vectorized",
      .summary = "operands travel as quads of 16 bytes, to k-major shared memory",
      .on_cuda = true}},
    {GemmVariant::warp_tiled,
     {.name = "warp_tiled",
      .summary =
          "a tile for each warp, 16 by 8 results in a thread, the next fragments on their way",
      .on_cuda = true}},
    {GemmVariant::pipelined,
     {.name = "pipelined",
      .summary = "asynchronous copies keep two chunks in flight while a third is multiplied",
      .on_cuda = true}},
    {GemmVariant::operand_reuse,
     {.name = "operand_reuse",
      .summary =
          "multiply-adds ordered so that each reads an operand that the one before has read: two "
          "register banks suffice",
      .on_cuda = true}},
    {GemmVariant::split_k,
     {.name = "split_k",
      .summary = "blocks share the inner extent of a tile, the last one adds their parts in order",
      .on_cuda = true}},
    {GemmVariant::wmma_tf32,
     {.name = "wmma_tf32",
      .summary = "tensor cores: a warp multiplies whole fragments, by the fragment API",
      .on_cuda = true,
      .compute_capability = 80,
      .needs = "ComputeMode tf32 or bf16"},
     kRounds},
    {GemmVariant::mma_tf32,
     {.name = "mma_tf32",
      .summary = "fragments in registers, read from swizzled shared memory that copies keep filled",
      .on_cuda = true,
      .compute_capability = 80,
      .needs = "ComputeMode tf32 or bf16"},
     kRounds},
    {GemmVariant::mma_bf16,
     {.name = "mma_bf16",
      .summary = "half the bytes: operands and result are bfloat16, sums fp32",
      .on_cuda = true,
      .compute_capability = 80,
      .needs = "bfloat16 matrices"},
     false,
     GemmStorage::bf16},
    {GemmVariant::tf32x3,
     {.name = "tf32x3",
      .summary = "fp32 accuracy from tensor cores: three products of the tf32 parts of numbers",
      .on_cuda = true,
      .compute_capability = 80}},
    {GemmVariant::cluster_tf32,
     {.name = "cluster_tf32",
      .summary =
          "for few tiles: blocks of a cluster copy operands for each other and share k, as do the "
          "warps of a block",
      .on_cuda = true,
      .compute_capability = 90,
      .needs = "ComputeMode tf32 or bf16; leaves rows not aligned to 16 bytes to mma_tf32"},
     kRounds},
    {GemmVariant::cluster_tf32x3,
     {.name = "cluster_tf32x3",
      .summary = "the same with fp32 accuracy: three products on the same bytes",
      .on_cuda = true,
      .compute_capability = 90,
      .needs = "leaves rows not aligned to 16 bytes to tf32x3; sums of above 4096 terms drift"}},
    {GemmVariant::wgmma_tf32,
     {.name = "wgmma_tf32",
      .summary =
          "Hopper's tensor cores read shared memory that the copy engine fills; threads only "
          "direct",
      .on_cuda = true,
      .compute_capability = 90,
      .needs = "sm_90a, no later one; ComputeMode tf32 or bf16"},
     kRounds,
     GemmStorage::fp32,
     true},
    {GemmVariant::wgmma_tf32x3,
     {.name = "wgmma_tf32x3",
      .summary = "the same with fp32 accuracy: operands are split before the product",
      .on_cuda = true,
      .compute_capability = 90,
      .needs = "sm_90a, no later one"},
     false,
     GemmStorage::fp32,
     true},
    {GemmVariant::wgmma_bf16,
     {.name = "wgmma_bf16",
      .summary = "the pipeline of wgmma_tf32 on bfloat16, where the tensor cores read every "
                 "transpose in place",
      .on_cuda = true,
      .compute_capability = 90,
      .needs = "sm_90a, no later one; bfloat16 matrices, rows of A and B aligned to 16 bytes"},
     false,
     GemmStorage::bf16,
     true},
}};

constexpr auto kInfos = [] {
  std::array<VariantInfo, kRows.size()> infos{};
  for (std::size_t i = 0; i < kRows.size(); ++i) infos[i] = kRows[i].info;
  return infos;
}();

}  // namespace

std::span<const GemmRow> gemm_rows() {
  return kRows;
}

const GemmRow& gemm_row(GemmVariant variant) {
  for (const GemmRow& row : kRows) {
    if (row.variant == variant) return row;
  }
  throw Error(ErrorKind::usage, "unknown gemm variant");
}

bool gemm_runs_on(GemmVariant variant, GemmStorage storage, Device device) {
  const GemmRow& row = gemm_row(variant);
  if (device.is_cpu()) return row.info.on_cpu;
  return row.info.on_cuda && row.cuda_storage == storage &&
         (row.hopper ? runs_hopper_code(device)
                     : device_properties(device).compute_capability >= row.info.compute_capability);
}

std::span<const VariantInfo> gemm_variants() {
  return kInfos;
}

GemmVariant parse_gemm_variant(std::string_view name) {
  std::string choices = "automatic";
  if (name == choices) return GemmVariant::automatic;
  for (const GemmRow& row : kRows) {
    if (row.info.name == name) return row.variant;
    choices += str(", ", row.info.name);
  }
  throw Error(ErrorKind::usage, str("unknown gemm variant '", name, "'; choose from ", choices));
}

}  // namespace weft::kernels
