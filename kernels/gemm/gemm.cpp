// SPDX-License-Identifier: MIT
// Validation and dispatch of GEMM; the table of variants is table.cpp.
#include "kernels/gemm/gemm.h"

#include <string>

#include "engine/error.h"
#include "kernels/gemm/automatic.h"
#include "kernels/gemm/cpu_table.h"
#include "kernels/gemm/passes.h"
#include "kernels/gemm/scratch.h"
#include "kernels/gemm/table.h"
#include "kernels/gemm/widened.h"
#include "kernels/hopper.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/gemm/cuda.h"
#endif

namespace weft::kernels {
namespace {

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

void check_runs(const GemmRow& row, GemmStorage storage, const GemmOptions& options,
                Device device) {
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
  if (row.hopper && !runs_hopper_code(device)) {
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
  return gemm_automatic(
      dims, storage, mode, aligned,
      {properties.compute_capability, runs_hopper_code(device), properties.multiprocessors});
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
  const GemmRow& row = gemm_row(variant);
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

Choice gemm_choice(const GemmDims& dims, GemmStorage storage, ComputeMode mode, Device device) {
  const GemmDims d = resolved(dims, bytes_of(storage));
  return named(gemm_rows(),
               automatic(d, storage, mode, rows_aligned(d, bytes_of(storage)), device));
}

Choice gemm_choice_on_h200(const GemmDims& dims, GemmStorage storage, ComputeMode mode) {
  const GemmDims d = resolved(dims, bytes_of(storage));
  const bool aligned = rows_aligned(d, bytes_of(storage));
  return named(gemm_rows(), gemm_automatic(d, storage, mode, aligned, {90, true, 132}));
}

}  // namespace weft::kernels
