// SPDX-License-Identifier: MIT
#include "kernels/optimizer/optimizer.h"

#include "kernels/checks.h"
#include "kernels/optimizer/cpu/table.h"

namespace weft::kernels {
namespace cuda {  // in rungs/

decltype(kernels::sgd_update) sgd_update;
decltype(kernels::ema_update) ema_update;
decltype(kernels::advance_step) advance_step;

}  // namespace cuda

void sgd_update(float* parameters, float* velocity, const float* gradients, std::int64_t n,
                const float* lr, const std::int64_t* step, const SgdOptions& options,
                const Stream& stream) {
  if (checked_elements("sgd_update", {n}) == 0) return;
  if (options.momentum != 0 && velocity == nullptr) {
    throw Error(ErrorKind::usage,
                str("sgd_update: momentum ", options.momentum, " needs a velocity, found null"));
  }
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda())
    return cuda::sgd_update(parameters, velocity, gradients, n, lr, step, options, stream);
#endif
  static_cast<void>(stream);
  select_optimizer_cpu().sgd_update(parameters, velocity, gradients, n, lr, step, options);
}

void ema_update(float* average, const float* values, std::int64_t n, float decay,
                const std::int64_t* step, const Stream& stream) {
  if (checked_elements("ema_update", {n}) == 0) return;
  if (!(decay >= 0 && decay <= 1)) {
    throw Error(ErrorKind::usage, str("ema_update: expected a decay from 0 to 1, found ", decay));
  }
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return cuda::ema_update(average, values, n, decay, step, stream);
#endif
  static_cast<void>(stream);
  select_optimizer_cpu().ema_update(average, values, n, decay, step);
}

void advance_step(std::int64_t* step, const Stream& stream) {
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return cuda::advance_step(step, stream);
#endif
  static_cast<void>(stream);
  *step += 1;
}

namespace {

constexpr Rung kRungs[] = {
    {.name = "vectorized",
     .summary = "the whole update in one pass over the flat buffers, 16 bytes at a time",
     .prefer = "always",
     .on_cpu = true},
};

}  // namespace

Rungs optimizer_rungs() {
  return Rungs(kRungs);
}

}  // namespace weft::kernels
