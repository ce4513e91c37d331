// SPDX-License-Identifier: MIT
// The table of the rungs of convolution with ReLU and pooling, and the validation and dispatch of a
// call.
#include "kernels/conv_relu_pool/conv_relu_pool.h"

#include <string>

#include "engine/extent.h"
#include "kernels/checks.h"
#include "kernels/conv/launchers.h"
#include "kernels/conv/parts/validate.h"
#include "kernels/conv_relu_pool/cpu/table.h"
#include "kernels/conv_relu_pool/launchers.h"

namespace weft::kernels {
namespace cuda {

// Nothing to compute: no pixels, or no whole window.
static bool is_empty(const ReluPoolDims& d) {
  return d.conv.n == 0 || d.conv.c == 0 || d.conv.oc == 0 || d.rows() == 0 || d.columns() == 0;
}

struct ReluPoolRow {
  using Problem = ReluPoolProblem;

  Rung rung;
  Launcher<ReluPoolForward> forward;
  Launcher<ReluPoolBackwardData> backward_data;
  Launcher<ReluPoolBackwardWeights> backward_weights;
  Launcher<ReluPoolBackwardStem> backward_stem = {};  // none: it reads x from memory
  Launcher<ReluPoolTakes> takes_shape = {};           // none: it takes any
  // None: partial sums of weight gradients, and nothing for the other passes.
  Launcher<ReluPoolWorkspace> workspace = {};
  bool masks = false;  // Does the data gradient apply a ReLU mask in its epilogue?

  constexpr bool complete() const {
    return forward.is("conv2d_relu_pool_forward_", rung.name) &&
           backward_data.is("conv2d_relu_pool_backward_data_", rung.name) &&
           backward_weights.is("conv2d_relu_pool_backward_weights_", rung.name) &&
           backward_stem.belongs_to("conv2d_relu_pool_backward_stem_", rung.name) &&
           takes_shape.belongs_to("conv2d_relu_pool_takes_", rung.name) &&
           workspace.belongs_to("conv2d_relu_pool_workspace_", rung.name);
  }
  std::string takes(const ReluPoolProblem& problem, Device device) const {
    if (problem.stem && (device.is_cpu() || backward_stem.run == nullptr)) {
      return "it reads x from memory and computes no stem";
    }
    const bool any = device.is_cpu() || is_empty(problem.dims) || takes_shape.run == nullptr;
    return any ? "" : takes_shape.run(problem);
  }
};

#define WEFT_PASSES(name)                                                                      \
  .forward = WEFT_LAUNCHER(ReluPoolForward, conv2d_relu_pool_forward_##name),                  \
  .backward_data = WEFT_LAUNCHER(ReluPoolBackwardData, conv2d_relu_pool_backward_data_##name), \
  .backward_weights =                                                                          \
      WEFT_LAUNCHER(ReluPoolBackwardWeights, conv2d_relu_pool_backward_weights_##name)

constexpr NamedMode kWgmmaModes[] = {{"wgmma", ComputeMode::tf32},
                                     {"wgmma_fp16x3", ComputeMode::fp32},
                                     {"wgmma_bf16", ComputeMode::bf16}};

constexpr ReluPoolRow kReluPoolRows[] = {
    {.rung = {.name = "gather",
              .summary = "the formula as written: a thread computes all of a window for one filter",
              .prefer = "for shapes that the others are not written for"},
     WEFT_PASSES(gather)},
    {.rung = {.name = "staged_images",
              .summary = "images wait in shared memory; a thread computes a window for up to 8 "
                         "filters in registers",
              .prefer = "for few channels, and on a CPU",
              .on_cpu = true,
              .needs =
                  "on a GPU: kernels of 3 x 3 or 5 x 5 with stride 1 under windows of 2 x 2; a "
                  "channel of an image fits in 48 KiB"},
     WEFT_PASSES(staged_images),
     .takes_shape = WEFT_LAUNCHER(ReluPoolTakes, conv2d_relu_pool_takes_staged_images)},
    {.rung = {.name = "wgmma",
              .summary =
                  "tensor cores: weights stay in shared memory, warps of their own round the "
                  "images and lay them out as operands",
              .prefer = "for channels and filters that fill a tenth of a tile or more, on Hopper",
              .compute_capability = 90,
              .exactly_sm_90a = true,
              .arithmetic = {Arithmetic::fp16x3, Arithmetic::tf32, Arithmetic::bf16},
              .needs =
                  "kernels of 3 x 3 with stride 1 and padding of at most 2, under windows of "
                  "2 x 2; weights and two tiles fit in shared memory; computes a stem in tf32 and "
                  "bf16, from images of even sides and a multiple of 16 bytes, up to 8 KiB",
              .modes = kWgmmaModes},
     WEFT_PASSES(wgmma),
     .backward_stem = WEFT_LAUNCHER(ReluPoolBackwardStem, conv2d_relu_pool_backward_stem_wgmma),
     .takes_shape = WEFT_LAUNCHER(ReluPoolTakes, conv2d_relu_pool_takes_wgmma),
     .workspace = WEFT_LAUNCHER(ReluPoolWorkspace, conv2d_relu_pool_workspace_wgmma),
     .masks = true},
};

#undef WEFT_PASSES

}  // namespace cuda

namespace {

// The share of a tensor core's products that count: of filters, channels and pixels in their tiles.
double filled(const ReluPoolDims& d) {
  const auto share = [](std::int64_t extent, std::int64_t tile) {
    return static_cast<double>(extent) / static_cast<double>(round_up(extent, tile));
  };
  return share(d.conv.oc, 64) * share(d.conv.c, 32) * share(d.rows(), 12) * share(d.columns(), 12);
}

// SIMT kernels reach a tenth of what tensor cores do.
Choice automatic(const ReluPoolProblem& problem, Device device) {
  if (problem.stem) return {"wgmma", "the one that computes the output of a stem"};
  if (device.is_cpu()) return {"staged_images", "the one on a CPU"};
  if (cuda::is_empty(problem.dims)) return {"gather", "there is nothing to compute"};
  if (filled(problem.dims) >= 0.1 && conv_relu_pool_takes("wgmma", problem, device)) {
    return {"wgmma", "channels, filters and windows fill a tenth of a tile or more"};
  }
  if (conv_relu_pool_takes("staged_images", problem, device)) {
    return {"staged_images", "channels of an image fit in shared memory"};
  }
  return {"gather", "the one for any shape"};
}

constexpr Ladder kLadder("conv_relu_pool", cuda::kReluPoolRows, automatic);

ReluPoolProblem problem_of(ConvPass pass, const ReluPoolDims& dims,
                           const ReluPoolOptions& options) {
  return {pass, dims, options.mode, options.stem.has_value()};
}

// Checks everything that a pass asks for and returns the row that runs it.
const cuda::ReluPoolRow& prepare(ConvPass pass, const ReluPoolDims& d,
                                 const ReluPoolOptions& options, Device device) {
  check_enumerator("conv2d_relu_pool", "pass", pass, ConvPass::backward_weights);
  check_mode("conv2d_relu_pool", options.mode);
  check_conv_dims(d.conv);
  constexpr std::int64_t kMostElements = 255;  // argmax is a byte, and 255 says "cut"
  if (d.ph < 1 || d.pw < 1 || d.ph > kMostElements || d.pw > kMostElements ||
      d.ph * d.pw > kMostElements) {
    throw Error(ErrorKind::usage, str("conv2d_relu_pool: expected a window of 1 to ", kMostElements,
                                      " elements, found ", d.ph, " x ", d.pw));
  }
  const ReluPoolProblem problem = problem_of(pass, d, options);
  const cuda::ReluPoolRow& row = kLadder.select(options.variant, problem, device);
  const std::string reason = problem.stem ? kLadder.refusal(row, problem, device) : "";
  if (reason.empty()) return row;
  throw Error(ErrorKind::usage, str("conv2d_relu_pool with a stem: ", row.rung.name, ": ", reason));
}

std::size_t workspace_bytes(const cuda::ReluPoolRow& row, const ReluPoolProblem& problem,
                            Device device) {
  if (device.is_cpu() || cuda::is_empty(problem.dims)) return 0;
  if (row.workspace) return row.workspace.run(problem);
  if (problem.pass == ConvPass::backward_weights) {
    return WEFT_CUDA(cuda::weight_gradient_bytes)(problem.dims.conv);
  }
  return 0;
}

// What a call needs of its workspace. Throws usage when that is too small.
Argument checked_workspace(const cuda::ReluPoolRow& row, const ReluPoolProblem& problem,
                           Workspace workspace, Device device) {
  const std::size_t needed = workspace_bytes(row, problem, device);
  if (workspace.bytes >= needed) return scratch(workspace, needed, kConvWorkspaceAlignment);
  throw Error(ErrorKind::usage, str("conv2d_relu_pool: expected a workspace of ", needed,
                                    " bytes, found ", workspace.bytes));
}

// How many elements the arrays of a call have. With a stem x is not stored; without a window there
// is nothing but x and dx to read or write.
struct Extents {
  std::int64_t x = 0, dx = 0, y = 0, w = 0, image = 0, stem_w = 0, stem_b = 0;

  Extents(const ReluPoolDims& dims, bool stem) {
    const ConvDims& d = dims.conv;
    dx = d.n * d.c * d.h * d.w;
    if (cuda::is_empty(dims)) return;
    y = d.n * d.oc * dims.rows() * dims.columns();
    w = d.oc * d.c * d.kh * d.kw;
    x = stem ? 0 : dx;
    if (!stem) return;
    image = d.n * (d.h + 2) * (d.w + 2);
    stem_w = d.c * 9;
    stem_b = d.c;
  }
};

void clear(float* values, std::int64_t count, GradientMode mode, const Stream& stream) {
  if (values == nullptr || mode == GradientMode::accumulate) return;
  zero_bytes(values, static_cast<std::size_t>(count) * sizeof(float), stream);
}

}  // namespace

void conv2d_relu_pool_forward(float* y, std::uint8_t* argmax, const float* x, const float* w,
                              const float* bias, const ReluPoolDims& dims,
                              const ReluPoolOptions& options, Workspace workspace,
                              const Stream& stream) {
  const auto& row = prepare(ConvPass::forward, dims, options, stream.device());
  if (cuda::is_empty(dims)) return;
  const Argument scratch = checked_workspace(row, problem_of(ConvPass::forward, dims, options),
                                             workspace, stream.device());
  const Extents of(dims, options.stem.has_value());
  const ReluPoolStem stem = options.stem.value_or(ReluPoolStem{});
  check_call(
      "conv2d_relu_pool_forward", stream,
      {writes("y", y, of.y), writes("argmax", argmax, of.y).or_null(), reads("x", x, of.x),
       reads("w", w, of.w), reads("bias", bias, dims.conv.oc).or_null(),
       reads("stem.image", stem.image, of.image).aligned_to(16), reads("stem.w", stem.w, of.stem_w),
       reads("stem.bias", stem.bias, of.stem_b).or_null(), scratch});
  if (stream.device().is_cpu()) {
    return select_relu_pool_cpu().forward(y, argmax, x, w, bias, dims);
  }
  row.forward.run(y, argmax, x, w, bias, dims, options, workspace, stream);
}

void conv2d_relu_pool_backward_data(float* dx, const float* dy, const std::uint8_t* argmax,
                                    const float* w, const ReluPoolDims& dims, GradientMode mode,
                                    const ReluPoolOptions& options, Workspace workspace,
                                    const Stream& stream) {
  const auto& row = prepare(ConvPass::backward_data, dims, options, stream.device());
  if (options.stem) {
    throw Error(ErrorKind::usage, "conv2d_relu_pool: with a stem, backward data is backward stem");
  }
  check_mode("conv2d_relu_pool_backward_data", mode);
  const Argument scratch = checked_workspace(
      row, problem_of(ConvPass::backward_data, dims, options), workspace, stream.device());
  const ConvDims& d = dims.conv;
  if (d.n == 0 || d.c == 0 || d.h == 0 || d.w == 0 || d.oc == 0) return;
  const Extents of(dims, false);
  check_call(
      "conv2d_relu_pool_backward_data", stream,
      {writes("dx", dx, of.dx), reads("dy", dy, of.y), reads("argmax", argmax, of.y),
       reads("w", w, of.w), reads("relu_mask", options.relu_mask, of.dx).or_null(), scratch});
  bool masked = false;
  if (cuda::is_empty(dims)) {
    clear(dx, d.n * d.c * d.h * d.w, mode, stream);
  } else if (stream.device().is_cpu()) {
    select_relu_pool_cpu().backward_data(dx, dy, argmax, w, dims, mode);
  } else {
    row.backward_data.run(dx, dy, argmax, w, dims, mode, options, workspace, stream);
    masked = row.masks;
  }
  if (!masked) mask_gradient(dx, d, options.relu_mask, stream);
}

void conv2d_relu_pool_backward_stem(float* dw, float* db, const float* dy,
                                    const std::uint8_t* argmax, const float* w,
                                    const ReluPoolDims& dims, GradientMode mode,
                                    const ReluPoolOptions& options, Workspace workspace,
                                    const Stream& stream) {
  const auto& row = prepare(ConvPass::backward_data, dims, options, stream.device());
  const ReluPoolProblem problem = problem_of(ConvPass::backward_data, dims, options);
  if (!problem.stem) {
    throw Error(ErrorKind::usage, "conv2d_relu_pool: backward stem without a stem");
  }
  constexpr std::string_view kWhere = "conv2d_relu_pool_backward_stem";
  check_mode(kWhere, mode);
  const Argument scratch = checked_workspace(row, problem, workspace, stream.device());
  const Extents of(dims, true);
  const ReluPoolStem& stem = *options.stem;
  check_call(
      kWhere, stream,
      {writes("dw", dw, dims.conv.c * 9), writes("db", db, dims.conv.c).or_null(),
       reads("dy", dy, of.y), reads("argmax", argmax, of.y), reads("w", w, of.w),
       reads("stem.image", stem.image, of.image).aligned_to(16), reads("stem.w", stem.w, of.stem_w),
       reads("stem.bias", stem.bias, of.stem_b).or_null(), scratch});
  if (cuda::is_empty(dims)) {
    clear(dw, dims.conv.c * dims.conv.kh * dims.conv.kw, mode, stream);
    return clear(db, dims.conv.c, mode, stream);
  }
  row.backward_stem.run(dw, db, dy, argmax, w, dims, mode, options, workspace, stream);
}

std::size_t conv2d_relu_pool_workspace_bytes(ConvPass pass, const ReluPoolDims& dims,
                                             const ReluPoolOptions& options, Device device) {
  const auto& row = prepare(pass, dims, options, device);
  return workspace_bytes(row, problem_of(pass, dims, options), device);
}

void conv2d_relu_pool_backward_weights(float* dw, float* db, const float* dy,
                                       const std::uint8_t* argmax, const float* x,
                                       const ReluPoolDims& dims, GradientMode mode,
                                       const ReluPoolOptions& options, Workspace workspace,
                                       const Stream& stream) {
  const auto& row = prepare(ConvPass::backward_weights, dims, options, stream.device());
  constexpr std::string_view kWhere = "conv2d_relu_pool_backward_weights";
  check_mode(kWhere, mode);
  const Argument scratch = checked_workspace(
      row, problem_of(ConvPass::backward_weights, dims, options), workspace, stream.device());
  const ConvDims& d = dims.conv;
  if (d.oc == 0 || d.c == 0) return;
  const Extents of(dims, options.stem.has_value());
  const ReluPoolStem stem = options.stem.value_or(ReluPoolStem{});
  check_call(
      kWhere, stream,
      {writes("dw", dw, d.oc * d.c * d.kh * d.kw), writes("db", db, d.oc).or_null(),
       reads("dy", dy, of.y), reads("argmax", argmax, of.y), reads("x", x, of.x),
       reads("stem.image", stem.image, of.image).aligned_to(16), reads("stem.w", stem.w, of.stem_w),
       reads("stem.bias", stem.bias, of.stem_b).or_null(), scratch});
  if (cuda::is_empty(dims)) {
    clear(dw, d.oc * d.c * d.kh * d.kw, mode, stream);
    return clear(db, d.oc, mode, stream);
  }
  if (stream.device().is_cpu()) {
    return select_relu_pool_cpu().backward_weights(dw, db, dy, argmax, x, dims, mode);
  }
  row.backward_weights.run(dw, db, dy, argmax, x, dims, mode, options, workspace, stream);
}

bool conv_relu_pool_on_tensor_cores(const ReluPoolProblem& problem, Device device) {
  return device.is_cuda() &&
         kLadder.named(kLadder.choose(problem, device).rung).rung.arithmetic.in(problem.mode) !=
             Arithmetic::fp32;
}

Rungs conv_relu_pool_rungs() {
  return kLadder.rungs();
}

bool conv_relu_pool_takes(std::string_view variant, const ReluPoolProblem& problem, Device device) {
  return kLadder.takes(variant, problem, device);
}

Choice conv_relu_pool_choice(const ReluPoolProblem& problem, Device device) {
  return kLadder.choose(problem, device);
}

}  // namespace weft::kernels
