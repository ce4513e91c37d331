// SPDX-License-Identifier: MIT
#include "kernels/loss/loss.h"

#include "kernels/checks.h"
#include "kernels/loss/cpu/table.h"

namespace weft::kernels {
namespace cuda {  // in rungs/

decltype(kernels::mean_squared_error) mean_squared_error;
decltype(kernels::accumulate_totals) accumulate_totals;

}  // namespace cuda

void mean_squared_error(float* loss, float* dy, const float* y, const float* target, float scale,
                        std::int64_t rows, std::int64_t cols, const Stream& stream) {
  const std::int64_t elements = checked_elements("mean_squared_error", {rows, cols});
  if (rows > 0 && cols == 0) {
    throw Error(ErrorKind::usage,
                str("mean_squared_error: shape (", rows, ", 0) has rows without columns"));
  }
  check_finite("mean_squared_error", "scale", scale);
  if (elements == 0) return;
  check_call("mean_squared_error", stream,
             {writes("loss", loss, rows).or_null(), writes("dy", dy, elements).or_null(),
              reads("y", y, elements), reads("target", target, elements)});
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda())
    return cuda::mean_squared_error(loss, dy, y, target, scale, rows, cols, stream);
#endif
  static_cast<void>(stream);
  select_loss_cpu().mean_squared_error(loss, dy, y, target, scale, rows, cols);
}

void accumulate_totals(MetricTotals* totals, const float* loss, const std::int32_t* prediction,
                       const std::int32_t* labels, std::int64_t rows, const Stream& stream) {
  if (checked_elements("accumulate_totals", {rows}) == 0) return;
  if ((prediction == nullptr) != (labels == nullptr)) {
    throw Error(ErrorKind::usage,
                "accumulate_totals: prediction and labels must both be given or both be null");
  }
  check_call(
      "accumulate_totals", stream,
      {writes("totals", totals, 1), reads("loss", loss, rows),
       reads("prediction", prediction, rows).or_null(), reads("labels", labels, rows).or_null()});
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda())
    return cuda::accumulate_totals(totals, loss, prediction, labels, rows, stream);
#endif
  static_cast<void>(stream);
  select_loss_cpu().accumulate_totals(totals, loss, prediction, labels, rows);
}

namespace {

constexpr Rung kRungs[] = {
    {.name = "warp_per_row",
     .summary = "mean squared error: one warp per row writes the loss and its gradient in one pass",
     .prefer = "for mean squared error, always",
     .on_cpu = true},
    {.name = "block",
     .summary = "running totals: one block adds a batch in double and in a fixed order",
     .prefer = "for the totals of an epoch, always",
     .on_cpu = true},
};

}  // namespace

Rungs loss_rungs() {
  return Rungs(kRungs);
}

}  // namespace weft::kernels
