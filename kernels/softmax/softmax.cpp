// SPDX-License-Identifier: MIT
// The table of the rungs of softmax, and the validation and dispatch of a call.
#include "kernels/softmax/softmax.h"

#include <cstdint>
#include <string>

#include "kernels/checks.h"
#include "kernels/softmax/cpu/table.h"
#include "kernels/softmax/launchers.h"

namespace weft::kernels {

namespace cuda {

struct SoftmaxRow {
  using Problem = std::int64_t;  // columns

  Rung rung;
  Launcher<SoftmaxForward> forward;
  Launcher<SoftmaxBackward> backward;
  Launcher<SoftmaxCrossEntropy> cross_entropy;
  std::int64_t longest = INT32_MAX;  // row that it takes

  constexpr bool complete() const {
    return forward.is("softmax_forward_", rung.name) &&
           backward.is("softmax_backward_", rung.name) &&
           cross_entropy.is("softmax_cross_entropy_", rung.name);
  }
  std::string takes(std::int64_t cols, Device) const {
    return cols <= longest ? "" : str("it takes at most ", longest, " columns, found ", cols);
  }
};

#define WEFT_PASSES(name)                                              \
  .forward = WEFT_LAUNCHER(SoftmaxForward, softmax_forward_##name),    \
  .backward = WEFT_LAUNCHER(SoftmaxBackward, softmax_backward_##name), \
  .cross_entropy = WEFT_LAUNCHER(SoftmaxCrossEntropy, softmax_cross_entropy_##name)

constexpr SoftmaxRow kSoftmaxRows[] = {
    {.rung = {.name = "three_pass",
              .summary = "a block walks its row three times: maximum, sum of exponentials, output",
              .prefer = "on a CPU, and to see what a walk costs",
              .on_cpu = true},
     WEFT_PASSES(three_pass)},
    {.rung =
         {.name = "online",
          .summary =
              "maximum and sum in one walk, the sum corrected when the maximum grows; the output "
              "in a second",
          .prefer = "for rows that fit nowhere"},
     WEFT_PASSES(online)},
    {.rung = {.name = "warp_per_row",
              .summary =
                  "a row in the registers of a warp: one read, one write, reductions by shuffles",
              .prefer = "for rows that the registers of a warp hold",
              .needs = "cols <= 1024"},
     WEFT_PASSES(warp_per_row),
     .longest = kWarpColumns},
    {.rung = {.name = "block_per_row",
              .summary = "a row in the registers of a block: one read and one write of longer rows",
              .prefer = "for rows that the registers of a block hold",
              .needs = "cols <= 16384"},
     WEFT_PASSES(block_per_row),
     .longest = kBlockColumns},
    {.rung =
         {.name = "cluster_per_row",
          .summary =
              "a row in the registers of up to 8 blocks, which leaves every SM room for parts of "
              "several rows",
          .prefer = "for rows that are more than half of what an SM holds, on Hopper",
          .compute_capability = 90,
          .needs = "cols <= 131072"},
     WEFT_PASSES(cluster_per_row),
     .longest = kClusterColumns},
};

#undef WEFT_PASSES

}  // namespace cuda

namespace {

Choice automatic(const std::int64_t& cols, Device device) {
  if (device.is_cpu()) return {"three_pass", "vectors of the CPU"};
  if (cols <= cuda::kWarpColumns) return {"warp_per_row", "a row fits in the registers of a warp"};
  // Beyond 8192 columns an SM holds one block_per_row only.
  if (cols > 8192 && softmax_takes("cluster_per_row", cols, device)) {
    return {"cluster_per_row", "a row is more than half of what an SM holds"};
  }
  if (cols <= cuda::kBlockColumns) {
    return {"block_per_row", "a row fits in the registers of a block"};
  }
  return {"online", "a row fits nowhere and is read twice"};
}

constexpr Ladder kLadder("softmax", cuda::kSoftmaxRows, automatic);

// Checks the arguments; the row that runs them, or null when there is nothing to compute.
const cuda::SoftmaxRow* checked_row(std::string_view where, std::int64_t rows, std::int64_t cols,
                                    std::string_view variant, Device device) {
  const std::int64_t elements = checked_elements(where, {rows, cols});
  if (rows > 0 && cols == 0) {
    throw Error(ErrorKind::usage, str(where, ": shape (", rows, ", 0) has rows without columns"));
  }
  if (cols > INT32_MAX) {
    throw Error(ErrorKind::usage, str(where, ": at most 2^31 - 1 columns, found ", cols));
  }
  const cuda::SoftmaxRow& row = kLadder.select(variant, cols, device);
  return elements > 0 ? &row : nullptr;
}

}  // namespace

Rungs softmax_rungs() {
  return kLadder.rungs();
}

bool softmax_takes(std::string_view variant, std::int64_t cols, Device device) {
  return kLadder.takes(variant, cols, device);
}

Choice softmax_choice(std::int64_t cols, Device device) {
  return automatic(cols, device);
}

void softmax_forward(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                     std::string_view variant, const Stream& stream) {
  const auto* row = checked_row("softmax_forward", rows, cols, variant, stream.device());
  if (row == nullptr) return;
  const std::int64_t n = rows * cols;
  check_call("softmax_forward", stream, {writes("y", y, n).may_be("x"), reads("x", x, n)});
  if (stream.device().is_cpu()) return select_softmax_cpu().forward(y, x, rows, cols);
  row->forward.run(y, x, rows, cols, stream);
}

void softmax_backward(float* dx, const float* dy, const float* y, std::int64_t rows,
                      std::int64_t cols, GradientMode mode, std::string_view variant,
                      const Stream& stream) {
  check_mode("softmax_backward", mode);
  const auto* row = checked_row("softmax_backward", rows, cols, variant, stream.device());
  if (row == nullptr) return;
  const std::int64_t n = rows * cols;
  check_call("softmax_backward", stream,
             {writes("dx", dx, n).may_be("dy"), reads("dy", dy, n), reads("y", y, n)});
  if (stream.device().is_cpu()) {
    return select_softmax_cpu().backward(dx, dy, y, rows, cols, mode);
  }
  row->backward.run(dx, dy, y, rows, cols, mode, stream);
}

void softmax_cross_entropy(float* loss, float* dx, std::int32_t* prediction, const float* x,
                           const std::int32_t* labels, float scale, float smoothing,
                           std::int64_t rows, std::int64_t cols, std::string_view variant,
                           const Stream& stream) {
  check_smoothing("softmax_cross_entropy", smoothing);
  check_finite("softmax_cross_entropy", "scale", scale);
  const auto* row = checked_row("softmax_cross_entropy", rows, cols, variant, stream.device());
  if (row == nullptr) return;
  const std::int64_t n = rows * cols;
  check_call("softmax_cross_entropy", stream,
             {writes("loss", loss, rows).or_null(), writes("dx", dx, n).or_null(),
              writes("prediction", prediction, rows).or_null(), reads("x", x, n),
              reads("labels", labels, rows)});
  if (stream.device().is_cpu()) {
    return select_softmax_cpu().cross_entropy(loss, dx, prediction, x, labels, scale, rows, cols,
                                              smoothing);
  }
  row->cross_entropy.run(loss, dx, prediction, x, labels, scale, smoothing, rows, cols, stream);
}

}  // namespace weft::kernels
