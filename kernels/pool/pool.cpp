// SPDX-License-Identifier: MIT
// The table of the rungs of pooling, and the validation and dispatch of a call.
#include "kernels/pool/pool.h"

#include <cstdint>
#include <string>

#include "kernels/checks.h"
#include "kernels/padding.h"
#include "kernels/pool/cpu/table.h"
#include "kernels/pool/launchers.h"

namespace weft::kernels {

namespace cuda {

struct PoolProblem {
  PoolDims dims;
  PoolOperation operation = PoolOperation::pool;
};

constexpr std::string_view kOperations[] = {"pool", "avg_pool2d_bias_sigmoid"};

struct PoolRow {
  using Problem = PoolProblem;

  Rung rung;
  // All of one operation.
  Launcher<MaxPoolForward> max_forward = {};
  Launcher<MaxPoolBackward> max_backward = {};
  Launcher<AvgPoolForward> avg_forward = {};
  Launcher<AvgPoolBackward> avg_backward = {};
  Launcher<AvgPoolBiasSigmoidForward> bias_sigmoid_forward = {};
  Launcher<AvgPoolBiasSigmoidBackward> bias_sigmoid_backward = {};
  Launcher<PoolTakes> takes_windows = {};  // none: it takes any

  constexpr PoolOperation operation() const {
    return bias_sigmoid_forward ? PoolOperation::bias_sigmoid : PoolOperation::pool;
  }
  constexpr bool complete() const {
    if (rung.operation != kOperations[static_cast<int>(operation())]) return false;
    if (operation() == PoolOperation::bias_sigmoid) {
      return bias_sigmoid_forward.is("avg_pool2d_forward_", rung.name) &&
             bias_sigmoid_backward.is("avg_pool2d_backward_", rung.name) && !max_forward &&
             !max_backward && !avg_forward && !avg_backward && !takes_windows;
    }
    return !bias_sigmoid_backward && max_forward.is("max_pool2d_forward_", rung.name) &&
           max_backward.is("max_pool2d_backward_", rung.name) &&
           avg_forward.is("avg_pool2d_forward_", rung.name) &&
           avg_backward.is("avg_pool2d_backward_", rung.name) &&
           takes_windows.belongs_to("pool_takes_", rung.name);
  }
  std::string takes(const PoolProblem& problem, Device) const {
    if (problem.operation != operation()) {
      return other_operation(rung, kOperations[static_cast<int>(problem.operation)]);
    }
    return takes_windows.run == nullptr ? "" : takes_windows.run(problem.dims);
  }
};

#define WEFT_PASSES(name)                                                     \
  .max_forward = WEFT_LAUNCHER(MaxPoolForward, max_pool2d_forward_##name),    \
  .max_backward = WEFT_LAUNCHER(MaxPoolBackward, max_pool2d_backward_##name), \
  .avg_forward = WEFT_LAUNCHER(AvgPoolForward, avg_pool2d_forward_##name),    \
  .avg_backward = WEFT_LAUNCHER(AvgPoolBackward, avg_pool2d_backward_##name)

constexpr PoolRow kPoolRows[] = {
    {.rung = {.name = "gather",
              .summary =
                  "each thread gathers one value: outputs read their window, inputs find the "
                  "windows that chose them, so backward needs no atomics",
              .prefer = "for windows of other sizes and strides, and on a CPU",
              .operation = "pool",
              .on_cpu = true},
     WEFT_PASSES(gather)},
    {.rung = {.name = "vectorized",
              .summary = "a thread makes two windows, or the rows of dx under them, from 16-byte "
                         "vectors: what argmax does not point to gets zeros as it goes",
              .prefer = "wherever it takes the windows",
              .operation = "pool",
              .needs = "windows of 2x2, or of 3x3 padded by at most 1; stride 2; at most 2^30 of "
                       "them"},
     WEFT_PASSES(vectorized),
     .takes_windows = WEFT_LAUNCHER(PoolTakes, pool_takes_vectorized)},
    {.rung = {.name = "fused_bias_sigmoid",
              .summary = "the subsampling layer of LeNet in one kernel: a mean gets its bias and "
                         "the sigmoid while it is in a register",
              .prefer = "for means with bias and sigmoid",
              .operation = "avg_pool2d_bias_sigmoid",
              .on_cpu = true,
              .needs = "a bias for each channel"},
     .bias_sigmoid_forward =
         WEFT_LAUNCHER(AvgPoolBiasSigmoidForward, avg_pool2d_forward_fused_bias_sigmoid),
     .bias_sigmoid_backward =
         WEFT_LAUNCHER(AvgPoolBiasSigmoidBackward, avg_pool2d_backward_fused_bias_sigmoid)},
};

#undef WEFT_PASSES

}  // namespace cuda

namespace {

using cuda::PoolProblem;

Choice automatic(const PoolProblem& problem, Device device) {
  if (problem.operation == PoolOperation::bias_sigmoid) {
    return {"fused_bias_sigmoid", "the one with bias and sigmoid"};
  }
  if (device.is_cpu()) return {"gather", "the one on a CPU"};
  if (pool_takes("vectorized", problem.dims, device))
    return {"vectorized", "windows lie in vectors"};
  return {"gather", "the one for any window"};
}

constexpr Ladder kLadder("pool", cuda::kPoolRows, automatic);

std::string describe(const PoolDims& d) {
  return str(
      "input (", d.n, ", ", d.c, ", ", d.h, ", ", d.w, "), window ", d.kh, "x", d.kw, ", stride ",
      d.stride_h, "x", d.stride_w, ", padding ", d.pad_h, "x", d.pad_w,
      d.more_h == 0 && d.more_w == 0 ? "" : str(" and ", d.more_h, "x", d.more_w, " more behind"));
}

// Throws unless the windows fit; returns whether there is anything to compute.
bool check_dims(std::string_view where, const PoolDims& d) {
  const std::int64_t planes = checked_elements(where, {d.n, d.c});
  const std::int64_t inputs = checked_elements(where, {d.n, d.c, d.h, d.w});
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::usage, str(where, ": ", what, " for ", describe(d)));
  };
  if (d.kh < 1 || d.kw < 1) fail("window extents must be at least 1");
  if (d.stride_h < 1 || d.stride_w < 1) fail("strides must be at least 1");
  if (d.pad_h < 0 || d.pad_w < 0) fail("padding must not be negative");
  if (!padding_fits(d.pad_h, d.kh) || !padding_fits(d.pad_w, d.kw)) {
    fail("padding must be at most half the window");
  }
  check_enumerator(where, "count", d.count, PoolCount::plane);
  const auto is_sound = [](std::int64_t more, std::int64_t pad, std::int64_t window) {
    return more >= -pad && more <= window;
  };
  if (!is_sound(d.more_h, d.pad_h, d.kh) || !is_sound(d.more_w, d.pad_w, d.kw)) {
    fail("padding behind must not be negative, nor larger than that in front by a window");
  }
  if (planes == 0) return false;
  const auto fits = [](std::int64_t window, std::int64_t extent, std::int64_t pad,
                       std::int64_t more) { return window_fits(window, extent + more, pad); };
  if (!fits(d.kh, d.h, d.pad_h, d.more_h) || !fits(d.kw, d.w, d.pad_w, d.more_w)) {
    fail("the window does not fit into the padded input");
  }
  if ((d.oh() - 1) * d.stride_h >= d.h + d.pad_h || (d.ow() - 1) * d.stride_w >= d.w + d.pad_w) {
    if (inputs > 0) fail("the last window begins behind the input");
  }
  if (d.h > 0 && d.w > INT32_MAX / d.h) fail("a plane must have less than 2^31 elements");
  if (d.kh > INT32_MAX || d.kw > INT32_MAX) fail("window extents must be below 2^31");
  return inputs > 0;
}

// Checks the arguments; the row that runs them, or null when there is nothing to compute.
const cuda::PoolRow* checked_row(std::string_view where, const PoolDims& dims,
                                 std::string_view variant, Device device,
                                 PoolOperation operation = PoolOperation::pool) {
  const bool any = check_dims(where, dims);
  if (operation == PoolOperation::bias_sigmoid && !dims.is_plain()) {
    throw Error(
        ErrorKind::usage,
        str(where, ": expected the same padding on both sides, counted, for ", describe(dims)));
  }
  const cuda::PoolRow& row = kLadder.select(variant, PoolProblem{dims, operation}, device);
  return any ? &row : nullptr;
}

// How many elements x and y have.
struct PoolExtents {
  std::int64_t x, y;

  explicit PoolExtents(const PoolDims& d)
      : x(d.n * d.c * d.h * d.w), y(d.n * d.c * d.oh() * d.ow()) {}
};

}  // namespace

std::optional<PoolOperation> pool_operation(std::string_view rung) {
  return operation_of<PoolOperation>(pool_rungs().find(rung), cuda::kOperations);
}

Rungs pool_rungs() {
  return kLadder.rungs();
}

bool pool_takes(std::string_view variant, const PoolDims& dims, Device device,
                PoolOperation operation) {
  check_enumerator("pool_takes", "operation", operation, PoolOperation::bias_sigmoid);
  return kLadder.takes(variant, PoolProblem{dims, operation}, device);
}

void max_pool2d_forward(float* y, std::int32_t* argmax, const float* x, const PoolDims& dims,
                        std::string_view variant, const Stream& stream) {
  const auto* row = checked_row("max_pool2d_forward", dims, variant, stream.device());
  if (row == nullptr) return;
  const PoolExtents of(dims);
  check_call("max_pool2d_forward", stream,
             {writes("y", y, of.y), writes("argmax", argmax, of.y).or_null(), reads("x", x, of.x)});
  if (stream.device().is_cpu()) return select_pool_cpu().max_forward(y, argmax, x, dims);
  row->max_forward.run(y, argmax, x, dims, stream);
}

void max_pool2d_backward(float* dx, const float* dy, const std::int32_t* argmax,
                         const PoolDims& dims, GradientMode mode, std::string_view variant,
                         const Stream& stream) {
  check_mode("max_pool2d_backward", mode);
  const auto* row = checked_row("max_pool2d_backward", dims, variant, stream.device());
  if (row == nullptr) return;
  const PoolExtents of(dims);
  check_call("max_pool2d_backward", stream,
             {writes("dx", dx, of.x), reads("dy", dy, of.y), reads("argmax", argmax, of.y)});
  if (stream.device().is_cpu()) return select_pool_cpu().max_backward(dx, dy, argmax, dims, mode);
  row->max_backward.run(dx, dy, argmax, dims, mode, stream);
}

void avg_pool2d_forward(float* y, const float* x, const PoolDims& dims, std::string_view variant,
                        const Stream& stream) {
  const auto* row = checked_row("avg_pool2d_forward", dims, variant, stream.device());
  if (row == nullptr) return;
  const PoolExtents of(dims);
  check_call("avg_pool2d_forward", stream, {writes("y", y, of.y), reads("x", x, of.x)});
  if (stream.device().is_cpu()) return select_pool_cpu().avg_forward(y, x, dims);
  row->avg_forward.run(y, x, dims, stream);
}

void avg_pool2d_backward(float* dx, const float* dy, const PoolDims& dims, GradientMode mode,
                         std::string_view variant, const Stream& stream) {
  check_mode("avg_pool2d_backward", mode);
  const auto* row = checked_row("avg_pool2d_backward", dims, variant, stream.device());
  if (row == nullptr) return;
  const PoolExtents of(dims);
  check_call("avg_pool2d_backward", stream, {writes("dx", dx, of.x), reads("dy", dy, of.y)});
  if (stream.device().is_cpu()) return select_pool_cpu().avg_backward(dx, dy, dims, mode);
  row->avg_backward.run(dx, dy, dims, mode, stream);
}

void avg_pool2d_bias_sigmoid_forward(float* y, const float* x, const float* bias,
                                     const PoolDims& dims, std::string_view variant,
                                     const Stream& stream) {
  const auto* row = checked_row("avg_pool2d_bias_sigmoid_forward", dims, variant, stream.device(),
                                PoolOperation::bias_sigmoid);
  if (row == nullptr) return;
  const PoolExtents of(dims);
  check_call("avg_pool2d_bias_sigmoid_forward", stream,
             {writes("y", y, of.y), reads("x", x, of.x), reads("bias", bias, dims.c)});
  if (stream.device().is_cpu()) return select_pool_cpu().bias_sigmoid_forward(y, x, bias, dims);
  row->bias_sigmoid_forward.run(y, x, bias, dims, stream);
}

void avg_pool2d_bias_sigmoid_backward(float* dx, float* dbias, const float* dy, const float* y,
                                      const PoolDims& dims, GradientMode mode,
                                      std::string_view variant, const Stream& stream) {
  check_mode("avg_pool2d_bias_sigmoid_backward", mode);
  const auto* row = checked_row("avg_pool2d_bias_sigmoid_backward", dims, variant, stream.device(),
                                PoolOperation::bias_sigmoid);
  if (row == nullptr) return;
  const PoolExtents of(dims);
  check_call("avg_pool2d_bias_sigmoid_backward", stream,
             {writes("dx", dx, of.x), writes("dbias", dbias, dims.c), reads("dy", dy, of.y),
              reads("y", y, of.y)});
  if (stream.device().is_cpu()) {
    return select_pool_cpu().bias_sigmoid_backward(dx, dbias, dy, y, dims, mode);
  }
  row->bias_sigmoid_backward.run(dx, dbias, dy, y, dims, mode, stream);
}

}  // namespace weft::kernels
