// SPDX-License-Identifier: MIT
// Validation, the table of variants and dispatch of convolution.
//
// A ComputeMode is the least precision that the caller accepts; what runs on the CPU is fp32.
#include "kernels/conv/conv.h"

#include <array>
#include <string>

#include <omp.h>

#include "engine/error.h"
#include "kernels/conv/cpu_table.h"
#include "kernels/gemm/scratch.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/conv/cuda.h"
#endif

namespace weft::kernels {
namespace {

struct Row {
  ConvVariant variant;
  VariantInfo info;
};

constexpr std::array<Row, 3> kRows{{
    {ConvVariant::direct,
     {.name = "direct",
      .summary = "the sums as written: one thread per output, no extra memory",
      .on_cpu = true,
      .on_cuda = true}},
    {ConvVariant::im2col_gemm,
     {.name = "im2col_gemm",
      .summary = "every window is copied to a column of a matrix, then one GEMM per batch",
      .on_cuda = true}},
    {ConvVariant::implicit_gemm,
     {.name = "implicit_gemm",
      .summary = "the same GEMM, its operand read from the image through a table of offsets",
      .on_cpu = true,
      .on_cuda = true}},
}};

constexpr auto kInfos = [] {
  std::array<VariantInfo, kRows.size()> infos{};
  for (std::size_t i = 0; i < kRows.size(); ++i) infos[i] = kRows[i].info;
  return infos;
}();

std::string describe(const ConvDims& d) {
  return str("conv2d input (", d.n, ", ", d.c, ", ", d.h, ", ", d.w, "), filters (", d.oc, ", ",
             d.c, ", ", d.kh, ", ", d.kw, "), stride (", d.stride_h, ", ", d.stride_w, "), pad (",
             d.pad_h, ", ", d.pad_w, ")");
}

void check_bytes(const ConvDims& d, std::initializer_list<std::int64_t> extents) {
  std::int64_t bytes = sizeof(float);
  for (const std::int64_t extent : extents) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) {
      throw Error(ErrorKind::usage, str(describe(d), ": does not fit in memory"));
    }
  }
}

void check_dims(const ConvDims& d) {
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;  // keeps sums of extents in range
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw Error(ErrorKind::usage, str(describe(d), ": ", what));
  };
  require(d.n >= 0 && d.c >= 0 && d.oc >= 0, "n, c and oc must not be negative");
  require(d.h >= 0 && d.w >= 0 && d.kh > 0 && d.kw > 0, "the image or the kernel has no size");
  require(d.stride_h > 0 && d.stride_w > 0, "strides must be positive");
  require(d.pad_h >= 0 && d.pad_w >= 0, "pads must not be negative");
  for (const std::int64_t extent :
       {d.h, d.w, d.kh, d.kw, d.stride_h, d.stride_w, d.pad_h, d.pad_w}) {
    require(extent <= kMaxExtent, "an extent is too large");
  }
  require(d.h + 2 * d.pad_h >= d.kh && d.w + 2 * d.pad_w >= d.kw,
          "the kernel is larger than the padded image");
  check_bytes(d, {d.n, d.c, d.h, d.w});
  check_bytes(d, {d.n, d.oc, d.oh(), d.ow()});
  check_bytes(d, {d.oc, d.c, d.kh, d.kw});
}

ConvVariant automatic(ConvPass pass, const ConvDims& dims, const ConvOptions& options,
                      Device device) {
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) return cuda::conv_automatic(pass, dims, options);
#endif
  (void)pass, (void)dims, (void)options, (void)device;
  return ConvVariant::implicit_gemm;
}

// The variant that runs a pass; throws when the one asked for cannot.
ConvVariant chosen(ConvPass pass, const ConvDims& dims, const ConvOptions& options, Device device) {
  if (options.variant == ConvVariant::automatic) return automatic(pass, dims, options, device);
  for (const auto& [row, info] : kRows) {
    if (row != options.variant) continue;
    if (device.is_cpu() ? !info.on_cpu : !info.on_cuda) {
      throw Error(ErrorKind::usage, str("conv variant ", info.name, " does not run on ", device));
    }
    return row;
  }
  throw Error(ErrorKind::usage, "unknown conv variant");
}

bool has_empty_extent(const ConvDims& d) {
  return d.c == 0 || d.oc == 0 || d.h == 0 || d.w == 0;
}

// Checks everything that a pass asks for and returns the variant that runs it.
ConvVariant prepare(ConvPass pass, const ConvDims& d, const ConvOptions& options,
                    Workspace workspace, Device device) {
  check_dims(d);
  const ConvVariant variant = chosen(pass, d, options, device);
  const std::size_t needed = conv2d_workspace_bytes(pass, d, options, device);
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage, str(describe(d), ": expected a workspace of ", needed,
                                      " bytes, found ", workspace.bytes));
  }
  return variant;
}

float* scratch_of(std::size_t (*floats)(const ConvDims&, int), const ConvDims& dims) {
  return thread_scratch(floats(dims, omp_get_max_threads()));
}

#ifdef WEFT_WITH_CUDA
template <class Function>
Function* pick(ConvVariant variant, Function* direct, Function* im2col_gemm,
               Function* implicit_gemm) {
  return variant == ConvVariant::direct        ? direct
         : variant == ConvVariant::im2col_gemm ? im2col_gemm
                                               : implicit_gemm;
}
#endif

}  // namespace

std::size_t conv2d_workspace_bytes(ConvPass pass, const ConvDims& dims, const ConvOptions& options,
                                   Device device) {
  check_dims(dims);
  const ConvVariant variant = chosen(pass, dims, options, device);
  if (has_empty_extent(dims) || (dims.n == 0 && pass != ConvPass::backward_weights)) return 0;
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) return cuda::conv2d_workspace_bytes(pass, dims, variant);
#endif
  (void)pass;
  (void)variant;
  return 0;
}

void conv2d_forward(float* y, const float* x, const float* w, const float* bias,
                    const ConvDims& dims, Epilogue epilogue, const ConvOptions& options,
                    Workspace workspace, const Stream& stream) {
  const ConvVariant variant = prepare(ConvPass::forward, dims, options, workspace, stream.device());
  if (dims.n == 0 || has_empty_extent(dims)) return;
  if (stream.device().is_cpu()) {
    const ConvCpu& cpu = select_conv_cpu();
    if (variant == ConvVariant::direct) {
      cpu.forward_direct(y, x, w, bias, dims, epilogue);
    } else {
      cpu.forward_implicit_gemm(y, x, w, bias, dims, epilogue,
                                scratch_of(cpu.forward_scratch, dims));
    }
    return;
  }
#ifdef WEFT_WITH_CUDA
  pick(variant, cuda::conv2d_forward_direct, cuda::conv2d_forward_im2col_gemm,
       cuda::conv2d_forward_implicit_gemm)(y, x, w, bias, dims, epilogue, options, workspace,
                                           stream);
#endif
}

void conv2d_backward_data(float* dx, const float* dy, const float* w, const ConvDims& dims,
                          GradientMode mode, const ConvOptions& options, Workspace workspace,
                          const Stream& stream) {
  const ConvVariant variant =
      prepare(ConvPass::backward_data, dims, options, workspace, stream.device());
  if (dims.n == 0 || has_empty_extent(dims)) return;
  if (stream.device().is_cpu()) {
    const ConvCpu& cpu = select_conv_cpu();
    if (variant == ConvVariant::direct) {
      cpu.backward_data_direct(dx, dy, w, dims, mode);
    } else {
      cpu.backward_data_implicit_gemm(dx, dy, w, dims, mode,
                                      scratch_of(cpu.backward_data_scratch, dims));
    }
    return;
  }
#ifdef WEFT_WITH_CUDA
  pick(variant, cuda::conv2d_backward_data_direct, cuda::conv2d_backward_data_im2col_gemm,
       cuda::conv2d_backward_data_implicit_gemm)(dx, dy, w, dims, mode, options, workspace, stream);
#endif
}

void conv2d_backward_weights(float* dw, float* db, const float* dy, const float* x,
                             const ConvDims& dims, GradientMode mode, const ConvOptions& options,
                             Workspace workspace, const Stream& stream) {
  const ConvVariant variant =
      prepare(ConvPass::backward_weights, dims, options, workspace, stream.device());
  if (has_empty_extent(dims)) return;
  if (stream.device().is_cpu()) {
    const ConvCpu& cpu = select_conv_cpu();
    if (variant == ConvVariant::direct) {
      cpu.backward_weights_direct(dw, db, dy, x, dims, mode);
    } else {
      cpu.backward_weights_implicit_gemm(dw, db, dy, x, dims, mode,
                                         scratch_of(cpu.backward_weights_scratch, dims));
    }
    return;
  }
#ifdef WEFT_WITH_CUDA
  pick(variant, cuda::conv2d_backward_weights_direct, cuda::conv2d_backward_weights_im2col_gemm,
       cuda::conv2d_backward_weights_implicit_gemm)(dw, db, dy, x, dims, mode, options, workspace,
                                                    stream);
#endif
}

std::span<const VariantInfo> conv_variants() {
  return kInfos;
}

ConvVariant parse_conv_variant(std::string_view name) {
  std::string choices = "automatic";
  if (name == choices) return ConvVariant::automatic;
  for (const Row& row : kRows) {
    if (row.info.name == name) return row.variant;
    choices += str(", ", row.info.name);
  }
  throw Error(ErrorKind::usage, str("unknown conv variant '", name, "'; choose from ", choices));
}

}  // namespace weft::kernels
