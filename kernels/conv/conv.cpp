// SPDX-License-Identifier: MIT
// The table of the rungs of convolution, and the validation and dispatch of a call.
//
// A ComputeMode is the least precision that the caller accepts; what runs on the CPU is fp32.
#include "kernels/conv/conv.h"

#include <limits>
#include <string>

#include <omp.h>

#include "engine/error.h"
#include "kernels/activation/activation.h"
#include "kernels/checks.h"
#include "kernels/conv/automatic.h"
#include "kernels/conv/cpu/table.h"
#include "kernels/conv/launchers.h"
#include "kernels/conv/parts/validate.h"
#include "kernels/gemm/cpu/scratch.h"

namespace weft::kernels {
namespace cuda {

struct ConvRow {
  using Problem = ConvProblem;

  Rung rung;
  bool on_cpu_as_written = false;  // on a CPU: the loops of the formula, else an implicit GEMM
  // On a GPU; a pass without a launcher is one that the rung does not have.
  Launcher<ConvForward> forward = {};
  Launcher<ConvBackwardData> backward_data = {};
  Launcher<ConvBackwardWeights> backward_weights = {};
  Launcher<ConvTakes> takes_shape = {};    // none: it takes any
  Launcher<ConvWorkspace> workspace = {};  // none: partial sums of weight gradients, else nothing
  std::optional<ArithmeticByMode> weights_arithmetic = {};  // where it is not that of the rung
  bool masks = false;         // Can the data gradient apply a ReLU mask in its epilogue?
  bool large_images = false;  // with offsets of 64 bits, for images of 2^30 elements and more
  std::int64_t network_channels = 0;  // the most of a layer on which it is measured

  constexpr bool complete() const {
    return rung.on_cuda == static_cast<bool>(forward) &&
           forward.belongs_to("conv2d_forward_", rung.name) &&
           backward_data.belongs_to("conv2d_backward_data_", rung.name) &&
           backward_weights.belongs_to("conv2d_backward_weights_", rung.name) &&
           takes_shape.belongs_to("conv_takes_", rung.name) &&
           workspace.belongs_to("conv_workspace_", rung.name);
  }
  constexpr bool has(ConvPass pass) const {
    return pass == ConvPass::forward         ? static_cast<bool>(forward)
           : pass == ConvPass::backward_data ? static_cast<bool>(backward_data)
                                             : static_cast<bool>(backward_weights);
  }
  std::string takes(const ConvProblem& problem, Device device) const;
};

#define WEFT_FORWARD(name) WEFT_LAUNCHER(ConvForward, name)
#define WEFT_DATA(name) WEFT_LAUNCHER(ConvBackwardData, name)
#define WEFT_WEIGHTS(name) WEFT_LAUNCHER(ConvBackwardWeights, name)
#define WEFT_TAKES(name) WEFT_LAUNCHER(ConvTakes, name)
#define WEFT_WORKSPACE(name) WEFT_LAUNCHER(ConvWorkspace, name)

using enum Arithmetic;

constexpr NamedMode kIm2colModes[] = {{"im2col_gemm_tensor_core", ComputeMode::tf32}};
constexpr NamedMode kTensorCoreModes[] = {{"implicit_gemm_tensor_core", ComputeMode::tf32},
                                          {"implicit_gemm_tensor_core_bf16", ComputeMode::bf16},
                                          {"implicit_gemm_tensor_core_tf32x3", ComputeMode::fp32}};
constexpr NamedMode kWgmmaModes[] = {{"implicit_gemm_wgmma", ComputeMode::tf32},
                                     {"implicit_gemm_wgmma_bf16", ComputeMode::bf16},
                                     {"implicit_gemm_wgmma_fp16x3", ComputeMode::fp32}};
constexpr NamedMode kDirectModes[] = {{"direct_tensor_core_tf32", ComputeMode::tf32}};
constexpr std::int64_t kAnyChannels = std::numeric_limits<std::int64_t>::max();

constexpr ConvRow kConvRows[] = {
    {.rung = {.name = "direct",
              .summary = "the sums as written: one thread per output, no extra memory",
              .prefer = "for layers of few channels whose image and filters fit in shared memory",
              .on_cpu = true,
              .bench_up_to = {.cpu = 2e10}},
     .on_cpu_as_written = true,
     .forward = WEFT_FORWARD(conv2d_forward_direct),
     .backward_data = WEFT_DATA(conv2d_backward_data_direct),
     .backward_weights = WEFT_WEIGHTS(conv2d_backward_weights_direct),
     .large_images = true,
     .network_channels = 1},
    {.rung = {.name = "direct_constant",
              .summary = "filters in constant memory: one access serves a warp",
              .prefer = "to see what the constant cache gains",
              .needs =
                  "filters of at most 16384 weights; one stream at a time; no weight gradient"},
     .forward = WEFT_FORWARD(conv2d_forward_direct_constant),
     .backward_data = WEFT_DATA(conv2d_backward_data_direct_constant),
     .takes_shape = WEFT_TAKES(conv_takes_direct_constant)},
    {.rung = {.name = "tiled",
              .summary =
                  "a tile of the image with its halo in shared memory, read once for all its "
                  "windows",
              .prefer = "to see what shared memory gains",
              .needs = "one window fits in 48 KiB; no weight gradient"},
     .forward = WEFT_FORWARD(conv2d_forward_tiled),
     .backward_data = WEFT_DATA(conv2d_backward_data_tiled),
     .takes_shape = WEFT_TAKES(conv_takes_tiled)},
    {.rung = {.name = "im2col_gemm",
              .summary = "every window is copied to a column of a matrix, then one GEMM per batch",
              .prefer = "to see what the copies cost",
              .arithmetic = {fp32, tf32, bf16},
              .needs = "sm_80 in ComputeMode tf32 and bf16",
              .modes = kIm2colModes},
     .forward = WEFT_FORWARD(conv2d_forward_im2col_gemm),
     .backward_data = WEFT_DATA(conv2d_backward_data_im2col_gemm),
     .backward_weights = WEFT_WEIGHTS(conv2d_backward_weights_im2col_gemm),
     .workspace = WEFT_WORKSPACE(conv_workspace_im2col_gemm)},
    {.rung = {.name = "implicit_gemm",
              .summary =
                  "the same GEMM, its operand read from the image through a table of offsets",
              .prefer = "on a CPU, and for many weights on a GPU without tensor cores",
              .on_cpu = true},
     .forward = WEFT_FORWARD(conv2d_forward_implicit_gemm),
     .backward_data = WEFT_DATA(conv2d_backward_data_implicit_gemm),
     .backward_weights = WEFT_WEIGHTS(conv2d_backward_weights_implicit_gemm),
     .network_channels = kAnyChannels},
    {.rung = {.name = "implicit_gemm_tensor_core",
              .summary = "that GEMM on tensor cores, fed 16 bytes at a time from images packed by "
                         "channels",
              .prefer = "from 16 channels and filters on, where wgmma cannot run",
              .compute_capability = 80,
              .arithmetic = {tf32x3, tf32, bf16},
              .modes = kTensorCoreModes},
     .forward = WEFT_FORWARD(conv2d_forward_implicit_gemm_tensor_core),
     .backward_data = WEFT_DATA(conv2d_backward_data_implicit_gemm_tensor_core),
     .backward_weights = WEFT_WEIGHTS(conv2d_backward_weights_implicit_gemm_tensor_core),
     .workspace = WEFT_WORKSPACE(conv_workspace_implicit_gemm_tensor_core),
     .weights_arithmetic = {{tf32x3, tf32, tf32}},
     .masks = true,
     .network_channels = kAnyChannels},
    {.rung = {.name = "implicit_gemm_wgmma",
              .summary = "the copy engine gathers: a window's tap is a box of the image, moved by "
                         "the tap",
              .prefer = "for many channels on Hopper",
              .compute_capability = 90,
              .exactly_sm_90a = true,
              .arithmetic = {fp16x3, tf32, bf16},
              .needs = "stride 1; weight gradients: kernels of 3 x 3",
              .modes = kWgmmaModes},
     .forward = WEFT_FORWARD(conv2d_forward_implicit_gemm_wgmma),
     .backward_data = WEFT_DATA(conv2d_backward_data_implicit_gemm_wgmma),
     .backward_weights = WEFT_WEIGHTS(conv2d_backward_weights_implicit_gemm_wgmma),
     .takes_shape = WEFT_TAKES(conv_takes_implicit_gemm_wgmma),
     .workspace = WEFT_WORKSPACE(conv_workspace_implicit_gemm_wgmma),
     .masks = true,
     .network_channels = kAnyChannels},
    {.rung = {.name = "direct_tensor_core",
              .summary = "images stay in shared memory as they came: a table of offsets makes them "
                         "operands",
              .prefer = "for small layers of 4 channels and 8 filters or more",
              .compute_capability = 80,
              .arithmetic = {tf32x3, tf32, tf32},
              .needs = "96 KiB for an image and all filters; data gradients: stride 1",
              .modes = kDirectModes},
     .forward = WEFT_FORWARD(conv2d_forward_direct_tensor_core),
     .backward_data = WEFT_DATA(conv2d_backward_data_direct_tensor_core),
     .backward_weights = WEFT_WEIGHTS(conv2d_backward_weights_direct_tensor_core),
     .takes_shape = WEFT_TAKES(conv_takes_direct_tensor_core),
     .masks = true},
};

#undef WEFT_FORWARD
#undef WEFT_DATA
#undef WEFT_WEIGHTS
#undef WEFT_TAKES
#undef WEFT_WORKSPACE

constexpr std::string_view kPassNames[] = {"forward", "backward data", "backward weights"};

std::string ConvRow::takes(const ConvProblem& problem, Device device) const {
  if (device.is_cpu()) return "";
  if (!has(problem.pass)) {
    return str("it has no ", kPassNames[static_cast<int>(problem.pass)], " pass");
  }
  if (problem.mode != ComputeMode::fp32 && rung.arithmetic.in(problem.mode) != fp32 &&
      device_properties(device).compute_capability < 80) {
    return "tensor cores for this mode need compute capability 80";
  }
  const std::string size = large_images ? "" : image_size_refusal(problem.dims);
  return !size.empty() || takes_shape.run == nullptr ? size : takes_shape.run(problem);
}

}  // namespace cuda

void mask_gradient(float* dx, const ConvDims& d, const float* relu_mask, const Stream& stream) {
  if (relu_mask == nullptr) return;
  activation_backward(dx, dx, relu_mask, d.n * d.c * d.h * d.w, Activation::relu,
                      GradientMode::overwrite, stream);
}

namespace {

constexpr Ladder kLadder("conv", cuda::kConvRows, conv_automatic);

bool has_empty_extent(const ConvDims& d) {
  return d.c == 0 || d.oc == 0 || d.h == 0 || d.w == 0;
}

// Bytes of scratch that a call needs when this row runs it.
std::size_t workspace_bytes(const cuda::ConvRow& row, const ConvProblem& problem, Device device) {
  const ConvDims& d = problem.dims;
  const bool weights = problem.pass == ConvPass::backward_weights;
  if (has_empty_extent(d) || (d.n == 0 && !weights) || device.is_cpu()) return 0;
  if (row.workspace) return row.workspace.run(problem);
  if (weights) return WEFT_CUDA(cuda::weight_gradient_bytes)(d);
  return 0;
}

constexpr std::string_view kFunctions[] = {"conv2d_forward", "conv2d_backward_data",
                                           "conv2d_backward_weights"};

// How many elements the arrays of a call have.
struct ConvExtents {
  std::int64_t x, y, w;

  explicit ConvExtents(const ConvDims& d)
      : x(d.n * d.c * d.h * d.w), y(d.n * d.oc * d.oh() * d.ow()), w(d.oc * d.c * d.kh * d.kw) {}
};

// What a pass needs: the row that runs it, and its part of the workspace.
struct Prepared {
  const cuda::ConvRow& row;
  Argument workspace;
};

// Checks everything that a pass asks for but its pointers.
Prepared prepare(ConvPass pass, const ConvDims& d, const ConvOptions& options, Workspace workspace,
                 Device device) {
  check_mode(kFunctions[static_cast<int>(pass)], options.mode);
  check_conv_dims(d);
  const ConvProblem problem{pass, d, options.mode};
  const cuda::ConvRow& row = kLadder.select(options.variant, problem, device);
  const std::size_t needed = workspace_bytes(row, problem, device);
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage, str(describe(d), ": expected a workspace of ", needed,
                                      " bytes, found ", workspace.bytes));
  }
  return {row, scratch(workspace, needed, kConvWorkspaceAlignment)};
}

float* scratch_of(std::size_t (*floats)(const ConvDims&, int), const ConvDims& dims) {
  return thread_scratch(floats(dims, omp_get_max_threads()));
}

float* winograd_scratch(const ConvCpu& cpu, ConvPass pass, const ConvDims& dims) {
  return thread_scratch(cpu.winograd_scratch(pass, dims, omp_get_max_threads()));
}

}  // namespace

std::size_t conv2d_workspace_bytes(ConvPass pass, const ConvDims& dims, const ConvOptions& options,
                                   Device device) {
  check_enumerator("conv2d_workspace_bytes", "pass", pass, ConvPass::backward_weights);
  check_mode("conv2d_workspace_bytes", options.mode);
  check_conv_dims(dims);
  const ConvProblem problem{pass, dims, options.mode};
  return workspace_bytes(kLadder.select(options.variant, problem, device), problem, device);
}

void conv2d_forward(float* y, const float* x, const float* w, const float* bias,
                    const ConvDims& dims, Epilogue epilogue, const ConvOptions& options,
                    Workspace workspace, const Stream& stream) {
  check_enumerator("conv2d_forward", "epilogue", epilogue, Epilogue::relu);
  const auto& [row, scratch] =
      prepare(ConvPass::forward, dims, options, workspace, stream.device());
  if (dims.n == 0 || has_empty_extent(dims)) return;
  const ConvExtents of(dims);
  check_call("conv2d_forward", stream,
             {writes("y", y, of.y), reads("x", x, of.x), reads("w", w, of.w),
              reads("bias", bias, dims.oc).or_null(), scratch});
  if (stream.device().is_cpu()) {
    const ConvCpu& cpu = select_conv_cpu();
    if (row.on_cpu_as_written) return cpu.forward_direct(y, x, w, bias, dims, epilogue);
    if (options.tile_errors && cpu.fits_winograd(ConvPass::forward, dims)) {
      return cpu.forward_winograd(y, x, w, bias, dims, epilogue,
                                  winograd_scratch(cpu, ConvPass::forward, dims));
    }
    return cpu.forward_implicit_gemm(y, x, w, bias, dims, epilogue,
                                     scratch_of(cpu.forward_scratch, dims));
  }
  row.forward.run(y, x, w, bias, dims, epilogue, options, workspace, stream);
}

void conv2d_backward_data(float* dx, const float* dy, const float* w, const ConvDims& dims,
                          GradientMode mode, const ConvOptions& options, Workspace workspace,
                          const Stream& stream) {
  check_mode("conv2d_backward_data", mode);
  const auto& [row, scratch] =
      prepare(ConvPass::backward_data, dims, options, workspace, stream.device());
  if (dims.n == 0 || has_empty_extent(dims)) return;
  const ConvExtents of(dims);
  check_call("conv2d_backward_data", stream,
             {writes("dx", dx, of.x), reads("dy", dy, of.y), reads("w", w, of.w),
              reads("relu_mask", options.relu_mask, of.x).or_null(), scratch});
  if (stream.device().is_cpu()) {
    const ConvCpu& cpu = select_conv_cpu();
    if (row.on_cpu_as_written) {
      cpu.backward_data_direct(dx, dy, w, dims, mode);
    } else if (options.tile_errors && cpu.fits_winograd(ConvPass::backward_data, dims)) {
      cpu.backward_data_winograd(dx, dy, w, dims, mode,
                                 winograd_scratch(cpu, ConvPass::backward_data, dims));
    } else {
      cpu.backward_data_implicit_gemm(dx, dy, w, dims, mode,
                                      scratch_of(cpu.backward_data_scratch, dims));
    }
    return mask_gradient(dx, dims, options.relu_mask, stream);
  }
  row.backward_data.run(dx, dy, w, dims, mode, options, workspace, stream);
  if (!row.masks) mask_gradient(dx, dims, options.relu_mask, stream);
}

void conv2d_backward_weights(float* dw, float* db, const float* dy, const float* x,
                             const ConvDims& dims, GradientMode mode, const ConvOptions& options,
                             Workspace workspace, const Stream& stream) {
  check_mode("conv2d_backward_weights", mode);
  const auto& [row, scratch] =
      prepare(ConvPass::backward_weights, dims, options, workspace, stream.device());
  if (has_empty_extent(dims)) return;
  const ConvExtents of(dims);
  check_call("conv2d_backward_weights", stream,
             {writes("dw", dw, of.w), writes("db", db, dims.oc).or_null(), reads("dy", dy, of.y),
              reads("x", x, of.x), scratch});
  if (stream.device().is_cpu()) {
    const ConvCpu& cpu = select_conv_cpu();
    if (row.on_cpu_as_written) return cpu.backward_weights_direct(dw, db, dy, x, dims, mode);
    if (options.tile_errors && cpu.fits_winograd(ConvPass::backward_weights, dims)) {
      return cpu.backward_weights_winograd(dw, db, dy, x, dims, mode,
                                           winograd_scratch(cpu, ConvPass::backward_weights, dims));
    }
    return cpu.backward_weights_implicit_gemm(dw, db, dy, x, dims, mode,
                                              scratch_of(cpu.backward_weights_scratch, dims));
  }
  row.backward_weights.run(dw, db, dy, x, dims, mode, options, workspace, stream);
}

std::int64_t conv_network_channels(std::string_view rung) {
  return kLadder.of(rung, &cuda::ConvRow::network_channels);
}

Rungs conv_rungs() {
  return kLadder.rungs();
}

bool conv_takes(std::string_view variant, const ConvProblem& problem, Device device) {
  return kLadder.takes(variant, problem, device);
}

Choice conv_choice(const ConvProblem& problem, Device device) {
  return conv_automatic(problem, device);
}

std::optional<Arithmetic> conv_arithmetic(std::string_view rung, ConvPass pass, ComputeMode mode) {
  const cuda::ConvRow& row = kLadder.named(rung);
  const bool weights = pass == ConvPass::backward_weights && row.weights_arithmetic;
  return (weights ? *row.weights_arithmetic : row.rung.arithmetic).in(mode);
}

}  // namespace weft::kernels
