// SPDX-License-Identifier: MIT
// The table of the rungs of the update, and the validation and dispatch of a call.
#include "kernels/optimizer/optimizer.h"

#include "kernels/checks.h"
#include "kernels/optimizer/cpu/table.h"
#include "kernels/optimizer/launchers.h"

namespace weft::kernels {

namespace cuda {

struct OptimizerRow {
  struct Problem {
    UpdateRule rule;
  };

  Rung rung;
  Launcher<AdamwUpdate> adamw = {};
  Launcher<SgdUpdate> sgd = {};  // none: it computes AdamW only

  constexpr bool complete() const {
    return adamw.is("adamw_update_", rung.name) && sgd.belongs_to("sgd_update_", rung.name);
  }
  std::string takes(const Problem& problem, Device) const {
    return problem.rule == UpdateRule::adamw || sgd ? "" : "it computes AdamW only";
  }
};

constexpr OptimizerRow kOptimizerRows[] = {
    {.rung = {.name = "separate_passes",
              .summary = "a kernel for each line of the rule: both moments, the decay and the "
                         "step each go through memory, 48 bytes for a parameter",
              .prefer = "to see what fusion gains"},
     .adamw = WEFT_LAUNCHER(AdamwUpdate, adamw_update_separate_passes)},
    {.rung = {.name = "fused",
              .summary = "the whole rule in one kernel, a thread for each parameter: 28 bytes, and "
                         "the clipped gradient is never stored",
              .prefer = "to see what wide loads gain"},
     .adamw = WEFT_LAUNCHER(AdamwUpdate, adamw_update_fused)},
    {.rung = {.name = "vectorized",
              .summary = "the whole update in one pass over the flat buffers, 16 bytes at a time",
              .prefer = "always",
              .on_cpu = true},
     .adamw = WEFT_LAUNCHER(AdamwUpdate, adamw_update_vectorized),
     .sgd = WEFT_LAUNCHER(SgdUpdate, sgd_update_vectorized)},
};

}  // namespace cuda

namespace {

Choice automatic(const cuda::OptimizerRow::Problem&, Device) {
  return {"vectorized", "the one for any size"};
}

constexpr Ladder kLadder("optimizer", cuda::kOptimizerRows, automatic);

void check_clip(const char* where, const GradientClip& clip) {
  if (clip.sum_of_squares == nullptr) return;
  check_finite(where, "clip.max_norm", clip.max_norm);
  if (!(clip.max_norm > 0)) {
    throw Error(ErrorKind::usage,
                str(where, ": expected a norm above 0 to clip to, found ", clip.max_norm));
  }
}

void check_adamw(const AdamwOptions& options) {
  const auto require = [](bool holds, const char* expected, double found) {
    if (!holds) throw Error(ErrorKind::usage, str("adamw_update: expected ", expected, found));
  };
  for (const double beta : {options.beta1, options.beta2}) {
    require(beta >= 0 && beta < 1, "betas from 0 to less than 1, found ", beta);
  }
  require(static_cast<float>(options.epsilon) > 0, "an epsilon above 0, found ", options.epsilon);
  check_finite("adamw_update", "epsilon", options.epsilon);
  check_finite("adamw_update", "weight_decay", options.weight_decay);
}

}  // namespace

void sgd_update(float* parameters, float* velocity, const float* gradients, std::int64_t n,
                const float* lr, const std::int64_t* step, const SgdOptions& options,
                const GradientClip& clip, const Stream& stream) {
  check_clip("sgd_update", clip);
  check_finite("sgd_update", "momentum", options.momentum);
  check_finite("sgd_update", "weight_decay", options.weight_decay);
  const Device device = stream.device();
  const cuda::OptimizerRow& row = kLadder.select(kAutomatic, {UpdateRule::sgd}, device);
  if (checked_elements("sgd_update", {n}) == 0) return;
  if (options.momentum != 0 && velocity == nullptr) {
    throw Error(ErrorKind::usage,
                str("sgd_update: momentum ", options.momentum, " needs a velocity, found null"));
  }
  check_call("sgd_update", stream,
             {writes("parameters", parameters, n),
              writes("velocity", velocity, options.momentum == 0 ? 0 : n),
              reads("gradients", gradients, n), reads("lr", lr, 1), reads("step", step, 1),
              reads("clip.sum_of_squares", clip.sum_of_squares, 1).or_null()});
  if (device.is_cpu()) {
    return select_optimizer_cpu().sgd_update(parameters, velocity, gradients, n, lr, step, options,
                                             clip);
  }
  row.sgd.run(parameters, velocity, gradients, n, lr, step, options, clip, stream);
}

void adamw_update(float* parameters, float* first, float* second, const float* gradients,
                  std::int64_t n, const float* lr, const std::int64_t* step,
                  const AdamwOptions& options, const GradientClip& clip, std::string_view variant,
                  const Stream& stream) {
  check_clip("adamw_update", clip);
  check_adamw(options);
  const Device device = stream.device();
  const cuda::OptimizerRow& row = kLadder.select(variant, {UpdateRule::adamw}, device);
  if (checked_elements("adamw_update", {n}) == 0) return;
  check_call(
      "adamw_update", stream,
      {writes("parameters", parameters, n), writes("first", first, n), writes("second", second, n),
       reads("gradients", gradients, n), reads("lr", lr, 1), reads("step", step, 1),
       reads("clip.sum_of_squares", clip.sum_of_squares, 1).or_null()});
  if (device.is_cpu()) {
    return select_optimizer_cpu().adamw_update(parameters, first, second, gradients, n, lr, step,
                                               options, clip);
  }
  row.adamw.run(parameters, first, second, gradients, n, lr, step, options, clip, stream);
}

void ema_update(float* average, const float* values, std::int64_t n, float decay,
                const std::int64_t* step, const Stream& stream) {
  if (checked_elements("ema_update", {n}) == 0) return;
  if (!(decay >= 0 && decay <= 1)) {
    throw Error(ErrorKind::usage, str("ema_update: expected a decay from 0 to 1, found ", decay));
  }
  check_call("ema_update", stream,
             {writes("average", average, n), reads("values", values, n), reads("step", step, 1)});
  if (stream.device().is_cuda()) {
    return WEFT_CUDA(cuda::ema_update)(average, values, n, decay, step, stream);
  }
  select_optimizer_cpu().ema_update(average, values, n, decay, step);
}

void advance_step(std::int64_t* step, const Stream& stream) {
  check_call("advance_step", stream, {writes("step", step, 1)});
  if (stream.device().is_cuda()) return WEFT_CUDA(cuda::advance_step)(step, stream);
  *step += 1;
}

Rungs optimizer_rungs() {
  return kLadder.rungs();
}

bool optimizer_takes(std::string_view variant, UpdateRule rule, Device device) {
  check_enumerator("optimizer_takes", "rule", rule, UpdateRule::adamw);
  return kLadder.takes(variant, {rule}, device);
}

}  // namespace weft::kernels
