// SPDX-License-Identifier: MIT
// Validation, the table of variants and dispatch of GEMM.
//
// A ComputeMode is the least precision that the caller accepts: fp32 variants serve every mode,
// tensor-core variants need theirs to be asked for.
#include "kernels/gemm/gemm.h"

#include <array>
#include <string>

#include "engine/error.h"
#include "kernels/gemm/automatic.h"
#include "kernels/gemm/cpu_table.h"
#include "kernels/gemm/passes.h"
#include "kernels/gemm/scratch.h"
#include "kernels/gemm/widened.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/gemm/cuda.h"
#endif

namespace weft::kernels {
namespace {

constexpr bool kRounds = true;

struct Row {
  GemmVariant variant;
  VariantInfo info;
  bool rounds = false;                           // operands of fp32: only if the mode allows it
  GemmStorage cuda_storage = GemmStorage::fp32;  // CPU variants take both
  bool hopper = false;                           // exactly sm_90, from code built for sm_90a
};

constexpr std::array<Row, 23> kRows{{
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
      .needs = "leaves rows not aligned to 16 bytes to tf32x3"}},
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

std::string describe(const GemmDims& d) {
  return str("gemm (m, n, k) = (", d.m, ", ", d.n, ", ", d.k, ")", d.transpose_a ? ", A^T" : "",
             d.transpose_b ? ", B^T" : "");
}

// The same dimensions with every leading dimension written out.
GemmDims resolved(GemmDims d, std::size_t element_bytes) {
  if (d.m < 0 || d.n < 0 || d.k < 0) {
    throw Error(ErrorKind::usage, str(describe(d), ": extents must not be negative"));
  }
  const auto resolve = [&](const char* name, std::int64_t& ld, std::int64_t rows,
                           std::int64_t row_length) {
    if (ld == 0) ld = row_length;
    std::int64_t bytes = 0;
    if (ld < row_length) {
      throw Error(ErrorKind::usage, str(describe(d), ": ", name, " = ", ld,
                                        " is shorter than a row of ", row_length));
    }
    if (__builtin_mul_overflow(rows, ld, &bytes) ||
        __builtin_mul_overflow(bytes, static_cast<std::int64_t>(element_bytes), &bytes)) {
      throw Error(ErrorKind::usage, str(describe(d), ": ", rows, " rows of ", name, " = ", ld,
                                        " do not fit in memory"));
    }
  };
  resolve("lda", d.lda, d.transpose_a ? d.k : d.m, d.transpose_a ? d.m : d.k);
  resolve("ldb", d.ldb, d.transpose_b ? d.n : d.k, d.transpose_b ? d.k : d.n);
  resolve("ldc", d.ldc, d.m, d.n);
  return d;
}

void check_strip(const GemmOptions& options) {
  const int width = options.strip_width, results = options.strip_results;
  if (width != 32 && width != 64 && width != 128 && width != 256) {
    throw Error(ErrorKind::usage,
                str("gemm: strip_width must be 32, 64, 128 or 256, found ", width));
  }
  if (results != 2 && results != 4) {
    throw Error(ErrorKind::usage, str("gemm: strip_results must be 2 or 4, found ", results));
  }
}

void check_cluster(const GemmOptions& options) {
  const int share = options.cluster_share, parts = options.cluster_parts;
  if (share < 0 || share > 2) {
    throw Error(ErrorKind::usage, str("gemm: cluster_share must be 0, 1 or 2, found ", share));
  }
  if (parts != 0 && parts != 1 && parts != 2 && parts != 4 && parts != 8) {
    throw Error(ErrorKind::usage,
                str("gemm: cluster_parts must be 0, 1, 2, 4 or 8, found ", parts));
  }
  if (share == 2 && parts > 2) {
    throw Error(ErrorKind::usage, str("gemm: a cluster has at most 8 blocks, found 4 that share ",
                                      "operands times ", parts, " parts"));
  }
}

const Row& row_of(GemmVariant variant) {
  for (const Row& row : kRows) {
    if (row.variant == variant) return row;
  }
  throw Error(ErrorKind::usage, "unknown gemm variant");
}

bool has_hopper_code() {
  return built_cuda_architectures().find("90a") != std::string_view::npos;
}

void check_runs(const Row& row, GemmStorage storage, const GemmOptions& options, Device device) {
  const VariantInfo& info = row.info;
  if (device.is_cpu() ? !info.on_cpu : !info.on_cuda) {
    throw Error(ErrorKind::usage, str("gemm variant ", info.name, " does not run on ", device));
  }
  if (device.is_cpu()) return;
  if (storage != row.cuda_storage) {
    const bool bf16 = storage == GemmStorage::bf16;
    throw Error(ErrorKind::usage,
                str("gemm variant ", info.name, " on ", device, " takes matrices of ",
                    bf16 ? "floats" : "bfloat16", ", found ", bf16 ? "bfloat16" : "floats"));
  }
  if (row.rounds && options.mode == ComputeMode::fp32) {
    throw Error(ErrorKind::usage, str("gemm variant ", info.name,
                                      " rounds its operands to tf32: ask for ComputeMode tf32, "
                                      "found fp32"));
  }
  const int capability = device_properties(device).compute_capability;
  if (row.hopper && (capability != 90 || !has_hopper_code())) {
    throw Error(ErrorKind::usage,
                str("gemm variant ", info.name, " needs a GPU of compute capability 90 and code ",
                    "built for sm_90a; ", device, " has ", capability, ", built for ",
                    built_cuda_architectures()));
  }
  if (capability < info.compute_capability) {
    throw Error(ErrorKind::usage, str("gemm variant ", info.name, " needs compute capability ",
                                      info.compute_capability, ", ", device, " has ", capability));
  }
}

bool is_cluster(GemmVariant variant) {
  return variant == GemmVariant::cluster_tf32 || variant == GemmVariant::cluster_tf32x3;
}

// Throws when a matrix cannot be read by the copy engine of Hopper.
template <class Element>
void check_rows(std::string_view variant, const char* name, const Element* matrix,
                std::int64_t ld) {
  const std::int64_t bytes = ld * static_cast<std::int64_t>(sizeof(Element));
  const auto address = reinterpret_cast<std::uintptr_t>(matrix);
  if (address % 16 == 0 && bytes % 16 == 0) return;
  throw Error(ErrorKind::usage,
              str("gemm variant ", variant, " needs rows that start on 16-byte boundaries: ",
                  address % 16 != 0 ? str(name, " starts ", address % 16, " bytes past one")
                                    : str("those of ", name, " are ", ld, " elements (", bytes,
                                          " bytes) apart")));
}

Chosen<GemmVariant> automatic(const GemmDims& dims, GemmStorage storage, ComputeMode mode,
                              bool aligned, Device device) {
  if (device.is_cpu()) return {GemmVariant::packed, "the one for any size on a CPU"};
  const DeviceProperties& properties = device_properties(device);
  const int capability = properties.compute_capability;
  return gemm_automatic(
      dims, storage, mode, aligned,
      {capability, capability == 90 && has_hopper_code(), properties.multiprocessors});
}

// Are rows of A and B aligned to 16 bytes?
bool rows_aligned(const GemmDims& dims, std::size_t element_bytes) {
  const auto vector = static_cast<std::int64_t>(16 / element_bytes);
  return dims.lda % vector == 0 && dims.ldb % vector == 0;
}

std::size_t bytes_of(GemmStorage storage) {
  return storage == GemmStorage::bf16 ? sizeof(Bfloat16) : sizeof(float);
}

// Validates a call and settles which variant it means.
template <class Element>
GemmVariant resolve_variant(const Element* a, const Element* b, const GemmDims& dims,
                            GemmStorage storage, const GemmOptions& options, Device device) {
  const bool aligned =
      (reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b)) % 16 == 0 &&
      rows_aligned(dims, sizeof(Element));
  GemmVariant variant = options.variant;
  if (variant == GemmVariant::automatic) {
    variant = automatic(dims, storage, options.mode, aligned, device).variant;
  }
  const Row& row = row_of(variant);
  check_runs(row, storage, options, device);
  check_strip(options);
  check_cluster(options);
  if (row.hopper && !fits_copy_engine(dims)) {
    throw Error(ErrorKind::usage, str(describe(dims), ": gemm variant ", row.info.name,
                                      " takes extents up to 2^31 - 1"));
  }
  if (variant == GemmVariant::wgmma_bf16) {
    check_rows(row.info.name, "A", a, dims.lda);
    check_rows(row.info.name, "B", b, dims.ldb);
  }
  if (row.hopper && dims.k == 0) {
    if (storage == GemmStorage::bf16) return GemmVariant::mma_bf16;
    return row.rounds ? GemmVariant::mma_tf32 : GemmVariant::tf32x3;
  }
  if (is_cluster(variant) && !(aligned && dims.k > 0 && fits_copy_engine(dims))) {
    return row.rounds ? GemmVariant::mma_tf32 : GemmVariant::tf32x3;
  }
  return variant;
}

}  // namespace

void gemm(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
          const GemmOptions& options, const Stream& stream) {
  const GemmDims d = resolved(dims, sizeof(float));
  const Device device = stream.device();
  const GemmVariant variant = resolve_variant(a, b, d, GemmStorage::fp32, options, device);
  if (d.m == 0 || d.n == 0) return;
  if (device.is_cpu()) {
    const GemmCpu& cpu = select_gemm_cpu();
    if (variant == GemmVariant::naive) {
      cpu.naive(c, a, b, bias, d, options.alpha, options.beta, options.epilogue);
    } else {
      cpu.packed(c, a, b, bias, d, options.alpha, options.beta, options.epilogue,
                 thread_scratch(cpu.packed_scratch(d)));
    }
    if (options.relu_mask != nullptr) gemm_apply_mask(c, options.relu_mask, d);
    if (options.row_sums != nullptr) {
      gemm_add_rows(options.row_sums, a, d, options.alpha, options.beta);
    }
    return;
  }
#ifdef WEFT_WITH_CUDA
  if (options.row_sums != nullptr && !is_cluster(variant)) {
    cuda::gemm_row_sums(options.row_sums, a, d, options.alpha, options.beta, stream);
  }
  switch (variant) {
    case GemmVariant::naive:
      return cuda::gemm_naive(c, a, b, bias, d, options, stream);
    case GemmVariant::strip_k1:
    case GemmVariant::strip_k2:
    case GemmVariant::strip_k3:
    case GemmVariant::strip_k4:
    case GemmVariant::strip_k3k4:
      return cuda::gemm_strip(c, a, b, bias, d, options, stream);
    case GemmVariant::tiled:
      return cuda::gemm_tiled(c, a, b, bias, d, options, stream);
    case GemmVariant::vectorized:
      return cuda::gemm_vectorized(c, a, b, bias, d, options, stream);
    case GemmVariant::warp_tiled:
      return cuda::gemm_warp_tiled(c, a, b, bias, d, options, stream);
    case GemmVariant::pipelined:
      return cuda::gemm_pipelined(c, a, b, bias, d, options, stream);
    case GemmVariant::operand_reuse:
      return cuda::gemm_operand_reuse(c, a, b, bias, d, options, stream);
    case GemmVariant::split_k:
      return cuda::gemm_split_k(c, a, b, bias, d, options, stream);
    case GemmVariant::wmma_tf32:
      return cuda::gemm_wmma_tf32(c, a, b, bias, d, options, stream);
    case GemmVariant::cluster_tf32:
      return cuda::gemm_cluster_tf32(c, a, b, bias, d, options, stream);
    case GemmVariant::cluster_tf32x3:
      return cuda::gemm_cluster_tf32x3(c, a, b, bias, d, options, stream);
    case GemmVariant::tf32x3:
      return cuda::gemm_tf32x3(c, a, b, bias, d, options, stream);
    case GemmVariant::wgmma_tf32:
      return cuda::gemm_wgmma_tf32(c, a, b, bias, d, options, stream);
    case GemmVariant::wgmma_tf32x3:
      return cuda::gemm_wgmma_tf32x3(c, a, b, bias, d, options, stream);
    case GemmVariant::mma_tf32:
      return cuda::gemm_mma_tf32(c, a, b, bias, d, options, stream);
    default:
      return cuda::gemm_register_tiled(c, a, b, bias, d, options, stream);
  }
#endif
}

void gemm(Bfloat16* c, const Bfloat16* a, const Bfloat16* b, const float* bias,
          const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  if (options.relu_mask != nullptr || options.row_sums != nullptr) {
    throw Error(ErrorKind::usage, "gemm on bfloat16: relu_mask and row_sums are for floats");
  }
  const GemmDims d = resolved(dims, sizeof(Bfloat16));
  const Device device = stream.device();
  const GemmVariant variant = resolve_variant(a, b, d, GemmStorage::bf16, options, device);
  if (d.m == 0 || d.n == 0) return;
  if (device.is_cpu()) return gemm_widened(c, a, b, bias, d, options, variant);
#ifdef WEFT_WITH_CUDA
  const auto run = variant == GemmVariant::wgmma_bf16 ? cuda::gemm_wgmma_bf16 : cuda::gemm_mma_bf16;
  run(c, a, b, bias, d, options, stream);
#endif
}

bool gemm_runs_on(GemmVariant variant, GemmStorage storage, Device device) {
  const Row& row = row_of(variant);
  if (device.is_cpu()) return row.info.on_cpu;
  const int capability = device_properties(device).compute_capability;
  return row.info.on_cuda && row.cuda_storage == storage &&
         (row.hopper ? capability == 90 && has_hopper_code()
                     : capability >= row.info.compute_capability);
}

Choice gemm_choice(const GemmDims& dims, GemmStorage storage, ComputeMode mode, Device device) {
  const GemmDims d = resolved(dims, bytes_of(storage));
  return named(kRows, automatic(d, storage, mode, rows_aligned(d, bytes_of(storage)), device));
}

Choice gemm_choice_on_h200(const GemmDims& dims, GemmStorage storage, ComputeMode mode) {
  const GemmDims d = resolved(dims, bytes_of(storage));
  const bool aligned = rows_aligned(d, bytes_of(storage));
  return named(kRows, gemm_automatic(d, storage, mode, aligned, {90, true, 132}));
}

std::span<const VariantInfo> gemm_variants() {
  return kInfos;
}

GemmVariant parse_gemm_variant(std::string_view name) {
  std::string choices = "automatic";
  if (name == choices) return GemmVariant::automatic;
  for (const Row& row : kRows) {
    if (row.info.name == name) return row.variant;
    choices += str(", ", row.info.name);
  }
  throw Error(ErrorKind::usage, str("unknown gemm variant '", name, "'; choose from ", choices));
}

}  // namespace weft::kernels
