// SPDX-License-Identifier: MIT
// The table of the rungs of the losses, and the validation and dispatch of a call.
#include "kernels/loss/loss.h"

#include <optional>
#include <string>

#include "kernels/checks.h"
#include "kernels/loss/cpu/table.h"

namespace weft::kernels {
namespace cuda {

using ErrorLauncher = void(float* loss, float* dy, const float* y, const float* target, float scale,
                           std::int64_t rows, std::int64_t cols, const Stream& stream);
using TotalsLauncher = void(MetricTotals* totals, const float* loss, const std::int32_t* prediction,
                            const std::int32_t* labels, std::int64_t rows, const Stream& stream);

constexpr std::string_view kOperations[] = {"mean_squared_error", "accumulate_totals"};

struct LossRow {
  using Problem = LossOperation;

  Rung rung;
  std::optional<const LossCpu& (*)()> cpu = {};
  // The one of its operation.
  Launcher<ErrorLauncher> error = {};
  Launcher<TotalsLauncher> totals = {};

  constexpr bool complete() const {
    const bool errs = rung.operation == kOperations[0], adds = rung.operation == kOperations[1];
    return rung.on_cpu == cpu.has_value() && errs != adds &&
           static_cast<bool>(error) == (errs && rung.on_cuda) &&
           static_cast<bool>(totals) == (adds && rung.on_cuda) &&
           error.belongs_to("mean_squared_error_", rung.name) &&
           totals.belongs_to("accumulate_totals_", rung.name);
  }
  std::string takes(LossOperation asked, Device) const {
    return other_operation(rung, kOperations[static_cast<int>(asked)]);
  }
};

constexpr LossRow kLossRows[] = {
    {.rung = {.name = "warp_per_row",
              .summary = "mean squared error: one warp per row writes the loss and its gradient in "
                         "one pass",
              .prefer = "for mean squared error, always",
              .operation = "mean_squared_error",
              .on_cpu = true},
     .cpu = select_loss_cpu,
     .error = WEFT_LAUNCHER(ErrorLauncher, mean_squared_error_warp_per_row)},
    {.rung = {.name = "block",
              .summary = "running totals: one block adds a batch in double and in a fixed order",
              .prefer = "for the totals of an epoch, always",
              .operation = "accumulate_totals",
              .on_cpu = true},
     .cpu = select_loss_cpu,
     .totals = WEFT_LAUNCHER(TotalsLauncher, accumulate_totals_block)},
};

}  // namespace cuda

namespace {

constexpr Ladder kLadder("loss", cuda::kLossRows);

}  // namespace

void mean_squared_error(float* loss, float* dy, const float* y, const float* target, float scale,
                        std::int64_t rows, std::int64_t cols, std::string_view variant,
                        const Stream& stream) {
  const auto& row = kLadder.select(variant, LossOperation::mean_squared_error, stream.device());
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
  if (stream.device().is_cpu()) {
    return (*row.cpu)().mean_squared_error(loss, dy, y, target, scale, rows, cols);
  }
  row.error.run(loss, dy, y, target, scale, rows, cols, stream);
}

void accumulate_totals(MetricTotals* totals, const float* loss, const std::int32_t* prediction,
                       const std::int32_t* labels, std::int64_t rows, std::string_view variant,
                       const Stream& stream) {
  const auto& row = kLadder.select(variant, LossOperation::accumulate_totals, stream.device());
  if (checked_elements("accumulate_totals", {rows}) == 0) return;
  if ((prediction == nullptr) != (labels == nullptr)) {
    throw Error(ErrorKind::usage,
                "accumulate_totals: prediction and labels must both be given or both be null");
  }
  check_call(
      "accumulate_totals", stream,
      {writes("totals", totals, 1), reads("loss", loss, rows),
       reads("prediction", prediction, rows).or_null(), reads("labels", labels, rows).or_null()});
  if (stream.device().is_cpu()) {
    return (*row.cpu)().accumulate_totals(totals, loss, prediction, labels, rows);
  }
  row.totals.run(totals, loss, prediction, labels, rows, stream);
}

std::optional<LossOperation> loss_operation(std::string_view rung) {
  return operation_of<LossOperation>(loss_rungs().find(rung), cuda::kOperations);
}

Rungs loss_rungs() {
  return kLadder.rungs();
}

bool loss_takes(std::string_view variant, LossOperation operation, Device device) {
  check_enumerator("loss_takes", "operation", operation, LossOperation::accumulate_totals);
  return kLadder.takes(variant, operation, device);
}

}  // namespace weft::kernels
