// SPDX-License-Identifier: MIT
// Validation, the table of variants and dispatch of convolution.
//
// A ComputeMode is the least precision that the caller accepts; what runs on the CPU is fp32.
#include "kernels/conv/conv.h"

#include <array>
#include <initializer_list>
#include <string>
#include <type_traits>

#include <omp.h>

#include "engine/error.h"
#include "kernels/activation/activation.h"
#include "kernels/choices.h"
#include "kernels/conv/cpu_table.h"
#include "kernels/conv/validate.h"
#include "kernels/gemm/scratch.h"
#include "kernels/hopper.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/conv/cuda.h"
#endif

namespace weft::kernels {
namespace {

struct Passes {
  bool forward = true, backward_data = true, backward_weights = true;
};
constexpr Passes kAllPasses, kNoWeights{.backward_weights = false}, kNone{false, false, false};
constexpr bool kMasks = true, kHopper = true;

struct Row {
  ConvVariant variant;
  VariantInfo info;
  Passes passes = kAllPasses;
  bool masks = false;   // the gradient of the data while it stores it
  bool hopper = false;  // exactly sm_90, from code built for sm_90a
};

constexpr std::array<Row, 9> kRows{{
    {ConvVariant::direct,
     {.name = "direct",
      .summary = "the sums as written: one thread per output, no extra memory",
      .on_cpu = true,
      .on_cuda = true}},
    {ConvVariant::direct_constant,
     {.name = "direct_constant",
      .summary = "filters in constant memory: one access serves a warp",
      .on_cuda = true,
      .needs = "filters of at most 16384 weights; one stream at a time; no backward weights"},
     kNoWeights},
    {ConvVariant::tiled,
     {.name = "tiled",
      .summary =
          "a tile of the image with its halo in shared memory, read once for all its windows",
      .on_cuda = true,
      .needs = "one window fits in 48 KiB; no backward weights"},
     kNoWeights},
    {ConvVariant::im2col_gemm,
     {.name = "im2col_gemm",
      .summary = "every window is copied to a column of a matrix, then one GEMM per batch",
      .on_cuda = true}},
    {ConvVariant::implicit_gemm,
     {.name = "implicit_gemm",
      .summary = "the same GEMM, its operand read from the image through a table of offsets",
      .on_cpu = true,
      .on_cuda = true}},
    {ConvVariant::implicit_gemm_tensor_core,
     {.name = "implicit_gemm_tensor_core",
      .summary = "that GEMM on tensor cores, fed 16 bytes at a time from images packed by channels",
      .on_cuda = true,
      .compute_capability = 80},
     kAllPasses,
     kMasks},
    {ConvVariant::implicit_gemm_wgmma,
     {.name = "implicit_gemm_wgmma",
      .summary = "the copy engine gathers: a window's tap is a box of the image, moved by the tap",
      .on_cuda = true,
      .compute_capability = 90,
      .needs = "sm_90a, no later one"},
     kAllPasses,
     kMasks,
     kHopper},
    {ConvVariant::direct_tensor_core,
     {.name = "direct_tensor_core",
      .summary =
          "images stay in shared memory as they came: a table of offsets makes them operands",
      .on_cuda = true,
      .compute_capability = 80,
      .needs = "96 KiB for an image and all filters, else it calls direct"},
     kAllPasses,
     kMasks},
    {ConvVariant::fused_relu_pool,
     {.name = "fused_relu_pool",
      .summary =
          "convolution, bias, ReLU and max pooling in one kernel: the large map is never stored",
      .on_cpu = true,
      .on_cuda = true,
      .needs = "conv2d_relu_pool_forward() and _backward()"},
     kNone},
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

}  // namespace

void check_conv_dims(const ConvDims& d) {
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;  // keeps sums of extents in range
  constexpr std::int64_t kMaxStride = std::int64_t{1} << 31;
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw Error(ErrorKind::usage, str(describe(d), ": ", what));
  };
  require(d.n >= 0 && d.c >= 0 && d.oc >= 0, "n, c and oc must not be negative");
  require(d.h >= 0 && d.w >= 0 && d.kh > 0 && d.kw > 0, "the image or the kernel has no size");
  require(d.stride_h > 0 && d.stride_w > 0, "strides must be positive");
  require(d.pad_h >= 0 && d.pad_w >= 0, "pads must not be negative");
  require(d.stride_h < kMaxStride && d.stride_w < kMaxStride, "a stride is too large");
  for (const std::int64_t extent : {d.h, d.w, d.kh, d.kw, d.pad_h, d.pad_w}) {
    require(extent <= kMaxExtent, "an extent is too large");
  }
  require(d.h + 2 * d.pad_h >= d.kh && d.w + 2 * d.pad_w >= d.kw,
          "the kernel is larger than the padded image");
  check_bytes(d, {d.n, d.c, d.h, d.w});
  check_bytes(d, {d.n, d.oc, d.oh(), d.ow()});
  check_bytes(d, {d.oc, d.c, d.kh, d.kw});
}

void mask_gradient(float* dx, const ConvDims& d, const ConvOptions& options, const Stream& stream) {
  if (options.relu_mask == nullptr) return;
  activation_backward(dx, dx, options.relu_mask, d.n * d.c * d.h * d.w, Activation::relu,
                      GradientMode::overwrite, stream);
}

namespace {

// Above some thousand weights the tiles of a product reuse more than a direct thread can. Tensor
// cores pay when channels and filters fill their tiles (a chunk is 16 channels, a tile 64 filters)
// and the work outlasts packing the operands, which is some 10 us of launches.
[[maybe_unused]] bool fills_tensor_cores(const ConvDims& d) {
  const double flops = 2.0 * static_cast<double>(d.n) * static_cast<double>(d.oh() * d.ow()) *
                       static_cast<double>(d.oc * d.c * d.kh * d.kw);
  return d.c >= 16 && d.oc >= 16 && d.c * d.oc >= 512 && flops >= 1e8;
}

// A tile is 16 filters, or 16 channels at a column of taps, and 8 of what is left.
[[maybe_unused]] bool fills_small_tiles(const ConvDims& d) {
  return d.c >= 4 && d.oc >= 8;
}

#ifdef WEFT_WITH_CUDA
// Stride 1, and as many channels side by side as a copy brings, 128 bytes, or for weights images,
// of which a fifth may be missing. Three products in fp32 are too many for tiles that are half
// empty.
bool fills_copies(ConvPass pass, const ConvDims& d, ComputeMode mode) {
  const std::int64_t copied = mode == ComputeMode::bf16 ? 64 : 32;
  if (pass == ConvPass::backward_weights) {
    const std::int64_t with_missing = (d.n + copied - 1) / copied * copied;
    return cuda::wgmma_weights_fit(d, mode) && 5 * d.n >= 4 * with_missing;
  }
  if (d.stride_h != 1 || d.stride_w != 1) return false;
  const bool forward = pass == ConvPass::forward;
  if (mode == ComputeMode::fp32 && (forward ? d.oc : d.c) <= 32) return false;
  return (forward ? d.c : d.oc) >= copied;
}
#endif

Chosen<ConvVariant> automatic(ConvPass pass, const ConvDims& dims, ComputeMode mode,
                              Device device) {
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) {
    const int capability = device_properties(device).compute_capability;
    if (capability >= 80 && fills_tensor_cores(dims)) {
      if (fills_copies(pass, dims, mode) && runs_hopper_code(device)) {
        return {ConvVariant::implicit_gemm_wgmma,
                pass == ConvPass::backward_weights
                    ? "images fill the copies of a pixel, side by side"
                    : "channels fill the copies of whole boxes of pixels"};
      }
      return {ConvVariant::implicit_gemm_tensor_core,
              "channels and filters fill tiles of tensor cores"};
    }
    const std::int64_t weights = dims.oc * dims.c * dims.kh * dims.kw;
    const bool few_weights = pass != ConvPass::backward_weights || weights <= 4096;
    if (few_weights && cuda::direct_fits(pass, dims)) {
      if (capability >= 80 && fills_small_tiles(dims) &&
          cuda::direct_tensor_core_fits(pass, dims)) {
        return {ConvVariant::direct_tensor_core,
                "an image and all filters fit in shared memory and fill small tiles"};
      }
      return {ConvVariant::direct, "an image and all filters fit in shared memory"};
    }
    return {ConvVariant::implicit_gemm, "too many weights for shared memory, or an odd shape"};
  }
#endif
  (void)pass, (void)dims, (void)mode, (void)device;
  return {ConvVariant::implicit_gemm, "the one for any shape on a CPU"};
}

const Row& row_of(ConvVariant variant) {
  for (const Row& row : kRows) {
    if (row.variant == variant) return row;
  }
  throw Error(ErrorKind::usage, "unknown conv variant");
}

const char* name_of(ConvPass pass) {
  return pass == ConvPass::forward         ? "forward"
         : pass == ConvPass::backward_data ? "backward data"
                                           : "backward weights";
}

// The variant that runs a pass; throws when the one asked for cannot.
ConvVariant chosen(ConvPass pass, const ConvDims& dims, const ConvOptions& options, Device device) {
  if (options.variant == ConvVariant::automatic)
    return automatic(pass, dims, options.mode, device).variant;
  const Row& row = row_of(options.variant);
  const VariantInfo& info = row.info;
  const auto refuse = [&](const auto&... parts) {
    throw Error(ErrorKind::usage, str("conv variant ", info.name, parts...));
  };
  if (device.is_cpu() ? !info.on_cpu : !info.on_cuda) refuse(" does not run on ", device);
  if (row.variant == ConvVariant::fused_relu_pool) refuse(" is called as conv2d_relu_pool_*()");
  if (!conv_has_pass(row.variant, pass)) refuse(" has no ", name_of(pass), " pass");
  if (device.is_cpu()) return row.variant;
  const int capability = device_properties(device).compute_capability;
  if (row.hopper && !conv_runs_on(row.variant, device)) {
    refuse(" needs a GPU of compute capability 90 and code built for sm_90a; ", device, " has ",
           capability, ", built for ", built_cuda_architectures());
  }
  if (capability < info.compute_capability) {
    refuse(" needs compute capability ", info.compute_capability, ", ", device, " has ",
           capability);
  }
  return row.variant;
}

bool has_empty_extent(const ConvDims& d) {
  return d.c == 0 || d.oc == 0 || d.h == 0 || d.w == 0;
}

// Checks everything that a pass asks for and returns the variant that runs it.
ConvVariant prepare(ConvPass pass, const ConvDims& d, const ConvOptions& options,
                    Workspace workspace, Device device) {
  check_conv_dims(d);
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
// The launcher of one pass: `direct`, or one of the others in the order of ConvVariant; null where
// there is none.
template <class Function>
Function* pick(ConvVariant variant, Function* direct,
               std::initializer_list<std::type_identity_t<Function>*> others) {
  const int after_direct = static_cast<int>(variant) - static_cast<int>(ConvVariant::direct);
  return after_direct == 0 ? direct : others.begin()[after_direct - 1];
}
#endif

}  // namespace

bool conv_runs_on(ConvVariant variant, Device device) {
  if (variant == ConvVariant::automatic) return true;
  const Row& row = row_of(variant);
  if (device.is_cpu()) return row.info.on_cpu;
  const int capability = device_properties(device).compute_capability;
  return row.info.on_cuda &&
         (row.hopper ? runs_hopper_code(device) : capability >= row.info.compute_capability);
}

bool conv_has_pass(ConvVariant variant, ConvPass pass) {
  if (variant == ConvVariant::automatic) return true;
  const Passes& passes = row_of(variant).passes;
  return pass == ConvPass::forward         ? passes.forward
         : pass == ConvPass::backward_data ? passes.backward_data
                                           : passes.backward_weights;
}

std::size_t conv2d_workspace_bytes(ConvPass pass, const ConvDims& dims, const ConvOptions& options,
                                   Device device) {
  check_conv_dims(dims);
  const ConvVariant variant = chosen(pass, dims, options, device);
  if (has_empty_extent(dims) || (dims.n == 0 && pass != ConvPass::backward_weights)) return 0;
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) return cuda::conv2d_workspace_bytes(pass, dims, variant, options.mode);
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
  pick(variant, cuda::conv2d_forward_direct,
       {cuda::conv2d_forward_direct_constant, cuda::conv2d_forward_tiled,
        cuda::conv2d_forward_im2col_gemm, cuda::conv2d_forward_implicit_gemm,
        cuda::conv2d_forward_implicit_gemm_tensor_core, cuda::conv2d_forward_implicit_gemm_wgmma,
        cuda::conv2d_forward_direct_tensor_core})(y, x, w, bias, dims, epilogue, options, workspace,
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
    return mask_gradient(dx, dims, options, stream);
  }
#ifdef WEFT_WITH_CUDA
  pick(variant, cuda::conv2d_backward_data_direct,
       {cuda::conv2d_backward_data_direct_constant, cuda::conv2d_backward_data_tiled,
        cuda::conv2d_backward_data_im2col_gemm, cuda::conv2d_backward_data_implicit_gemm,
        cuda::conv2d_backward_data_implicit_gemm_tensor_core,
        cuda::conv2d_backward_data_implicit_gemm_wgmma,
        cuda::conv2d_backward_data_direct_tensor_core})(dx, dy, w, dims, mode, options, workspace,
                                                        stream);
  if (!row_of(variant).masks) mask_gradient(dx, dims, options, stream);
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
  pick(variant, cuda::conv2d_backward_weights_direct,
       {nullptr, nullptr, cuda::conv2d_backward_weights_im2col_gemm,
        cuda::conv2d_backward_weights_implicit_gemm,
        cuda::conv2d_backward_weights_implicit_gemm_tensor_core,
        cuda::conv2d_backward_weights_implicit_gemm_wgmma,
        cuda::conv2d_backward_weights_direct_tensor_core})(dw, db, dy, x, dims, mode, options,
                                                           workspace, stream);
#endif
}

Choice conv_choice(ConvPass pass, const ConvDims& dims, ComputeMode mode, Device device) {
  return named(kRows, automatic(pass, dims, mode, device));
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
