// SPDX-License-Identifier: MIT
// The table of the rungs of GEMM, and the validation and dispatch of a call.
//
// A ComputeMode is the least precision that the caller accepts: rungs in fp32 serve every mode,
// rungs that round operands need theirs to be asked for.
#include "kernels/gemm/gemm.h"

#include <string>

#include "kernels/checks.h"
#include "kernels/gemm/automatic.h"
#include "kernels/gemm/check_options.h"
#include "kernels/gemm/cpu/passes.h"
#include "kernels/gemm/cpu/scratch.h"
#include "kernels/gemm/cpu/table.h"
#include "kernels/gemm/cpu/widened.h"
#include "kernels/gemm/resolve.h"
#include "kernels/gemm/row.h"
#include "kernels/hopper.h"

namespace weft::kernels {
namespace cuda {

#define WEFT_FLOATS(name) WEFT_LAUNCHER(GemmLauncher, name)
#define WEFT_BFLOAT16(name) WEFT_LAUNCHER(GemmBfloat16Launcher, name)

constexpr ArithmeticByMode kRoundsToTf32{{}, Arithmetic::tf32, Arithmetic::tf32};
constexpr ArithmeticByMode kRounds{{}, Arithmetic::tf32, Arithmetic::bf16};
constexpr ArithmeticByMode kSplits = always(Arithmetic::tf32x3), kBf16 = always(Arithmetic::bf16);
constexpr ArithmeticByMode kSplitsHalves = always(Arithmetic::fp16x3);
constexpr std::string_view kRounding = "ComputeMode tf32 or bf16";

// It takes minutes at 8192 cubed, as long as all others together. On a CPU the triple loop does.
constexpr WorkLimit kSlow{.gpu = 5e11}, kSlowest{.cpu = 5e9, .gpu = 5e11};

template <int kRows, int kColumns = kRows>
GemmTile tile_of(const GemmOptions&) {
  return {kRows, kColumns};
}

template <bool kInColumn, bool kInRow>  // Are the results of a thread there?
GemmTile strip_of(const GemmOptions& options) {
  return {kInColumn ? options.strip_results : 1,
          options.strip_width * (kInRow ? options.strip_results : 1)};
}

constexpr GemmRow kGemmRows[] = {
    {.rung = {.name = "uncoalesced",
              .summary = "three loops, one element per thread, with a warp along a column of C: "
                         "its threads touch 32 rows at once",
              .prefer = "to see what an order of threads against the rows of memory costs",
              .bench_up_to = kSlow},
     .floats = WEFT_FLOATS(gemm_uncoalesced),
     .traits = {.tile = tile_of<1>}},
    {.rung = {.name = "naive",
              .summary =
                  "three loops, one output element per thread: every operand comes from memory",
              .prefer = "to check a result, or to read first",
              .on_cpu = true,
              .bench_up_to = kSlowest},
     .floats = WEFT_FLOATS(gemm_naive),
     .traits = {.tile = tile_of<1>}},
    {.rung = {.name = "packed",
              .summary =
                  "panels packed for the cache, a register tile of vectors in the innermost loop",
              .prefer = "always, on a CPU",
              .on_cpu = true,
              .on_cuda = false},
     .packs = true},
    {.rung = {.name = "strip_k1",
              .summary = "a block is a vector of neighbouring columns, 32 to 256 wide",
              .prefer = "to see what a vector machine would do",
              .bench_up_to = kSlow},
     .floats = WEFT_FLOATS(gemm_strip_k1),
     .traits = {.tile = tile_of<1>, .strip = true}},
    {.rung = {.name = "strip_k2",
              .summary = "a strip of the left operand is staged in shared memory",
              .prefer = "to see what staging one operand gains",
              .bench_up_to = kSlow},
     .floats = WEFT_FLOATS(gemm_strip_k2),
     .traits = {.tile = strip_of<false, false>, .strip = true}},
    {.rung = {.name = "strip_k3",
              .summary = "2 or 4 results in a row for each thread: left elements are used again",
              .prefer = "to see what reusing A in registers gains",
              .bench_up_to = kSlow},
     .floats = WEFT_FLOATS(gemm_strip_k3),
     .traits = {.tile = strip_of<false, true>, .strip = true, .results = true}},
    {.rung = {.name = "strip_k4",
              .summary =
                  "2 or 4 results in a column for each thread: right elements are used again",
              .prefer = "to see what reusing B in registers gains",
              .bench_up_to = kSlow},
     .floats = WEFT_FLOATS(gemm_strip_k4),
     .traits = {.tile = strip_of<true, false>, .strip = true, .results = true}},
    {.rung = {.name = "strip_k3k4",
              .summary = "both: 4 columns by 2 or 4 rows of results for each thread",
              .prefer = "to see what reusing both gains; tiled is faster",
              .bench_up_to = kSlow},
     .floats = WEFT_FLOATS(gemm_strip_k3k4),
     .traits = {.tile = strip_of<true, true>, .strip = true, .results = true}},
    {.rung = {.name = "tiled_16",
              .summary = "square tiles of 16 in shared memory, one element of C per thread: each "
                         "loaded element is used 16 times",
              .prefer = "to see the tiled product of the textbooks",
              .bench_up_to = kSlow},
     .floats = WEFT_FLOATS(gemm_tiled_16),
     .traits = {.tile = tile_of<16>, .side = 16}},
    {.rung = {.name = "tiled_32",
              .summary = "the same with tiles of 32: half the loads, and blocks of 1024 threads",
              .prefer = "to see what a larger tile gains",
              .bench_up_to = kSlow},
     .floats = WEFT_FLOATS(gemm_tiled_32),
     .traits = {.tile = tile_of<32>}},
    {.rung = {.name = "tiled",
              .summary = "square tiles of 32 in shared memory, four elements of C per thread: an "
                         "element of B that was read serves four products",
              .prefer = "to see what shared memory gains",
              .bench_up_to = kSlow,
              .padded = {132, 4}},
     .floats = WEFT_FLOATS(gemm_tiled),
     .traits = {.tile = tile_of<32>, .side = 32, .any_side = true}},
    {.rung = {.name = "register_tiled",
              .summary =
                  "each thread owns a tile of outputs in registers: more arithmetic per load",
              .prefer = "for C of few tiles of 128 x 128 in fp32, and for k of 128 or less",
              .padded = {144, 16} /* the tile of small problems */},
     .floats = WEFT_FLOATS(gemm_register_tiled),
     .traits = {.for_layers = true}},
    {.rung = {.name = "vectorized",
              .summary = "operands travel as quads of 16 bytes, to k-major shared memory",
              .prefer = "to see what loads of 16 bytes gain"},
     .floats = WEFT_FLOATS(gemm_vectorized),
     .traits = {.tile = tile_of<128>}},
    {.rung =
         {.name = "warp_tiled",
          .summary =
              "a tile for each warp, 16 by 8 results in a thread, the next fragments on their way",
          .prefer = "to see what a tile for each warp gains"},
     .floats = WEFT_FLOATS(gemm_warp_tiled),
     .traits = {.tile = tile_of<128>}},
    {.rung = {.name = "pipelined",
              .summary =
                  "asynchronous copies keep two chunks in flight while a third is multiplied",
              .prefer = "to see what asynchronous copies gain"},
     .floats = WEFT_FLOATS(gemm_pipelined),
     .traits = {.tile = tile_of<128>}},
    {.rung = {.name = "operand_reuse",
              .summary = "multiply-adds ordered so that each reads an operand that the one before "
                         "has read: two register banks suffice",
              .prefer = "for large products in fp32 without tensor cores"},
     .floats = WEFT_FLOATS(gemm_operand_reuse),
     .traits = {.tile = tile_of<128>, .fast = true}},
    {.rung = {.name = "split_k",
              .summary =
                  "blocks share the inner extent of a tile, the last one adds their parts in order",
              .prefer = "for a small C and a long k without tensor cores"},
     .floats = WEFT_FLOATS(gemm_split_k),
     .traits = {.tile = tile_of<64>, .for_layers = true}},
    {.rung = {.name = "wmma_tf32",
              .summary = "tensor cores: a warp multiplies whole fragments, by the fragment API",
              .prefer = "to see the fragment API",
              .compute_capability = 80,
              .arithmetic = kRoundsToTf32,
              .needs = kRounding},
     .floats = WEFT_FLOATS(gemm_wmma_tf32)},
    {.rung =
         {.name = "mma_tf32",
          .summary =
              "fragments in registers, read from swizzled shared memory that copies keep filled",
          .prefer = "in tf32 or bf16 where wgmma or clusters cannot run: sm_80 to sm_89, or "
                    "unaligned rows",
          .compute_capability = 80,
          .arithmetic = kRounds,
          .needs = kRounding},
     .floats = WEFT_FLOATS(gemm_mma_tf32),
     .traits = {.for_layers = true}},
    {.rung =
         {.name = "mma_bf16",
          .summary = "half the bytes: operands and result are bfloat16, sums fp32",
          .prefer =
              "for bfloat16 where wgmma_bf16 cannot run, or with fewer than 64 tiles of 128 x 128",
          .compute_capability = 80,
          .arithmetic = kBf16,
          .needs = "bfloat16 matrices"},
     .bfloat16 = WEFT_BFLOAT16(gemm_mma_bf16)},
    {.rung = {.name = "tf32x3",
              .summary =
                  "fp32 accuracy from tensor cores: three products of the tf32 parts of numbers",
              .prefer = "for fp32 with more tiles of 64 x 64 than multiprocessors",
              .compute_capability = 80,
              .arithmetic = kSplits},
     .floats = WEFT_FLOATS(gemm_tf32x3),
     .traits = {.for_layers = true}},
    {.rung = {.name = "cluster_tf32",
              .summary = "for few tiles: blocks of a cluster share k, as do the warps of a block",
              .prefer = "for layers of small networks in tf32 or bf16 on sm_90",
              .compute_capability = 90,
              .arithmetic = kRounds,
              .needs = "ComputeMode tf32 or bf16, k > 0, rows of A and B aligned to 16 bytes"},
     .floats = WEFT_FLOATS(gemm_cluster_tf32),
     .copy_engine = true,
     .aligned = true,
     .adds_row_sums = true,
     .traits = {.for_layers = true}},
    {.rung = {.name = "cluster_tf32x3",
              .summary = "the same with fp32 accuracy: three products on the same bytes",
              .prefer = "for layers of small networks in fp32 on sm_90, k up to 2304 a block",
              .compute_capability = 90,
              .arithmetic = kSplits,
              .needs =
                  "k > 0, rows of A and B aligned to 16 bytes; sums of above 4096 terms drift"},
     .floats = WEFT_FLOATS(gemm_cluster_tf32x3),
     .copy_engine = true,
     .aligned = true,
     .adds_row_sums = true,
     .traits = {.for_layers = true, .longest_k = 4096}},
    {.rung = {.name = "wgmma_tf32",
              .summary = "Hopper's tensor cores read shared memory that the copy engine fills; "
                         "threads only direct",
              .prefer = "for large products in tf32 or bf16 on Hopper",
              .compute_capability = 90,
              .exactly_sm_90a = true,
              .arithmetic = kRoundsToTf32,
              .needs = "ComputeMode tf32 or bf16, k > 0"},
     .floats = WEFT_FLOATS(gemm_wgmma_tf32),
     .copy_engine = true,
     .traits = {.for_layers = true}},
    {.rung = {.name = "wgmma_tf32x3",
              .summary = "the same with fp32 accuracy: operands are split before the product",
              .prefer = "for large products in fp32 on Hopper where a row's values differ by 2^28",
              .compute_capability = 90,
              .exactly_sm_90a = true,
              .arithmetic = kSplits,
              .needs = "k > 0"},
     .floats = WEFT_FLOATS(gemm_wgmma_tf32x3),
     .copy_engine = true,
     .traits = {.for_layers = true}},
    {.rung = {.name = "wgmma_fp16x3",
              .summary =
                  "the same from parts of fp16, which tensor cores multiply twice as fast; a "
                  "power of two for each row keeps them in range",
              .prefer = "for large products in fp32 on Hopper, from 512 rows and columns on",
              .compute_capability = 90,
              .exactly_sm_90a = true,
              .arithmetic = kSplitsHalves,
              .needs = "k > 0"},
     .floats = WEFT_FLOATS(gemm_wgmma_fp16x3),
     .copy_engine = true,
     .traits = {.for_layers = true}},
    {.rung = {.name = "wgmma_bf16",
              .summary = "the pipeline of wgmma_tf32 on bfloat16, where the tensor cores read "
                         "every transpose in place",
              .prefer = "for large products of bfloat16 on Hopper",
              .compute_capability = 90,
              .exactly_sm_90a = true,
              .arithmetic = kBf16,
              .needs = "bfloat16 matrices, k > 0, rows of A and B aligned to 16 bytes"},
     .bfloat16 = WEFT_BFLOAT16(gemm_wgmma_bf16),
     .copy_engine = true,
     .aligned = true},
};

#undef WEFT_FLOATS
#undef WEFT_BFLOAT16

std::string GemmRow::takes(const GemmProblem& problem, Device device) const {
  if (device.is_cpu()) return "";
  if (problem.storage == GemmStorage::bf16 ? !bfloat16 : !floats) {
    return problem.storage == GemmStorage::bf16 ? "it takes matrices of floats, found bfloat16"
                                                : "it takes matrices of bfloat16, found floats";
  }
  if (copy_engine && problem.dims.k == 0) return "it needs k > 0";
  if (copy_engine && !fits_copy_engine(problem.dims)) return "it takes extents up to 2^31 - 1";
  if (aligned && !problem.aligned) return "it needs rows of A and B on 16-byte boundaries";
  return "";
}

}  // namespace cuda

namespace {

Choice automatic(const GemmProblem& problem, Device device) {
  if (device.is_cpu()) return {"packed", "the one for any size on a CPU"};
  const DeviceProperties& properties = device_properties(device);
  return gemm_automatic(problem, {properties.compute_capability, runs_hopper_code(device),
                                  properties.multiprocessors});
}

constexpr Ladder kLadder("gemm", cuda::kGemmRows, automatic);

// Validates a call and finds the row that runs it.
template <class Element>
const cuda::GemmRow& checked(Element* c, const Element* a, const Element* b, const float* bias,
                             GemmProblem& problem, const GemmOptions& options,
                             const Stream& stream) {
  const auto addresses = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b);
  problem.mode = options.mode;
  problem.aligned = addresses % 16 == 0;
  problem = resolved(problem);
  check_options(options);
  const bool fixed = options.batch_invariant && stream.device().is_cuda();
  if (fixed) check_batch_invariant(options, problem.storage);
  const cuda::GemmRow& row =
      kLadder.select(fixed ? kBatchInvariant : options.variant, problem, stream.device());
  const GemmDims& d = problem.dims;
  if (d.m == 0 || d.n == 0) return row;
  const bool ta = d.transpose_a, tb = d.transpose_b;
  check_call("gemm", stream,
             {writes_rows("c", c, d.m, d.n, d.ldc),
              reads_rows("a", a, ta ? d.k : d.m, ta ? d.m : d.k, d.lda),
              reads_rows("b", b, tb ? d.n : d.k, tb ? d.k : d.n, d.ldb),
              reads("bias", bias, d.n).or_null(),
              reads_rows("relu_mask", options.relu_mask, d.m, d.n, d.ldc).or_null(),
              writes("row_sums", options.row_sums, d.m).or_null()});
  return row;
}

}  // namespace

void gemm(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
          const GemmOptions& options, const Stream& stream) {
  GemmProblem problem{.dims = dims};
  const cuda::GemmRow& row = checked(c, a, b, bias, problem, options, stream);
  const GemmDims& d = problem.dims;
  if (d.m == 0 || d.n == 0) return;
  if (stream.device().is_cpu()) {
    const GemmCpu& cpu = select_gemm_cpu();
    if (row.packs) {
      cpu.packed(c, a, b, bias, d, options.alpha, options.beta, options.epilogue,
                 thread_scratch(cpu.packed_scratch(d)));
    } else {
      cpu.naive(c, a, b, bias, d, options.alpha, options.beta, options.epilogue);
    }
    if (options.relu_mask != nullptr) gemm_apply_mask(c, options.relu_mask, d);
    if (options.row_sums != nullptr) {
      gemm_add_rows(options.row_sums, a, d, options.alpha, options.beta);
    }
    return;
  }
  if (options.row_sums != nullptr && !row.adds_row_sums) {
    WEFT_CUDA(cuda::gemm_row_sums)(options.row_sums, a, d, options.alpha, options.beta, stream);
  }
  row.floats.run(c, a, b, bias, d, options, stream);
}

void gemm(Bfloat16* c, const Bfloat16* a, const Bfloat16* b, const float* bias,
          const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  if (options.relu_mask != nullptr || options.row_sums != nullptr) {
    throw Error(ErrorKind::usage, "gemm on bfloat16: relu_mask and row_sums are for floats");
  }
  GemmProblem problem{.dims = dims, .storage = GemmStorage::bf16};
  const cuda::GemmRow& row = checked(c, a, b, bias, problem, options, stream);
  const GemmDims& d = problem.dims;
  if (d.m == 0 || d.n == 0) return;
  if (stream.device().is_cpu()) return gemm_widened(c, a, b, bias, d, options, row.packs);
  row.bfloat16.run(c, a, b, bias, d, options, stream);
}

GemmTraits gemm_traits(std::string_view rung) {
  return kLadder.of(rung, &cuda::GemmRow::traits);
}

Rungs gemm_rungs() {
  return kLadder.rungs();
}

bool gemm_takes(std::string_view variant, const GemmProblem& problem, Device device) {
  return kLadder.takes(variant, resolved(problem), device);
}

Choice gemm_choice(const GemmProblem& problem, Device device) {
  return automatic(resolved(problem), device);
}

Choice gemm_choice_on_h200(const GemmProblem& problem) {
  return gemm_automatic(resolved(problem), {90, true, 132});
}

}  // namespace weft::kernels
