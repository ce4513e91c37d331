// SPDX-License-Identifier: MIT
// The table of the rungs of activation, and the validation and dispatch of a call.
#include "kernels/activation/activation.h"

#include <cmath>
#include <optional>
#include <string>

#include "kernels/activation/cpu/table.h"
#include "kernels/checks.h"

namespace weft::kernels {
namespace cuda {

using ActivationForward = void(float* y, const float* x, std::int64_t n,
                               const ActivationFunction& function, const Stream& stream);
using ActivationBackward = void(float* dx, const float* dy, const float* y, std::int64_t n,
                                const ActivationFunction& function, GradientMode mode,
                                const Stream& stream);
using PreluForward = void(float* y, const float* x, const float* slope, std::int64_t outer,
                          std::int64_t channels, std::int64_t inner, const Stream& stream);
using PreluBackward = void(float* dx, float* dslope, const float* dy, const float* x,
                           const float* slope, std::int64_t outer, std::int64_t channels,
                           std::int64_t inner, GradientMode mode, const Stream& stream);
using BiasForward = void(float* y, const float* x, const float* bias, std::int64_t outer,
                         std::int64_t channels, std::int64_t inner, const Stream& stream);
using BiasBackward = void(float* db, const float* dy, std::int64_t outer, std::int64_t channels,
                          std::int64_t inner, GradientMode mode, const Stream& stream);

struct ActivationRow {
  struct Problem {};

  Rung rung;
  std::optional<const ActivationCpu& (*)()> cpu = {};
  Launcher<ActivationForward> forward = {};
  Launcher<ActivationBackward> backward = {};
  Launcher<PreluForward> prelu_forward = {};
  Launcher<PreluBackward> prelu_backward = {};
  Launcher<BiasForward> bias_forward = {};
  Launcher<BiasBackward> bias_backward = {};

  constexpr bool complete() const {
    return rung.on_cpu == cpu.has_value() && forward.there_if(rung, "activation_forward_") &&
           backward.there_if(rung, "activation_backward_") &&
           prelu_forward.there_if(rung, "prelu_forward_") &&
           prelu_backward.there_if(rung, "prelu_backward_") &&
           bias_forward.there_if(rung, "bias_forward_") &&
           bias_backward.there_if(rung, "bias_backward_");
  }
  std::string takes(const Problem&, Device) const { return ""; }
};

constexpr ActivationRow kActivationRows[] = {
    {.rung = {.name = "vectorized",
              .summary = "one pass in 16-byte pieces, several in flight per thread: memory "
                         "bandwidth is the whole story",
              .prefer = "always",
              .on_cpu = true},
     .cpu = select_activation_cpu,
     .forward = WEFT_LAUNCHER(ActivationForward, activation_forward_vectorized),
     .backward = WEFT_LAUNCHER(ActivationBackward, activation_backward_vectorized),
     .prelu_forward = WEFT_LAUNCHER(PreluForward, prelu_forward_vectorized),
     .prelu_backward = WEFT_LAUNCHER(PreluBackward, prelu_backward_vectorized),
     .bias_forward = WEFT_LAUNCHER(BiasForward, bias_forward_vectorized),
     .bias_backward = WEFT_LAUNCHER(BiasBackward, bias_backward_vectorized)},
};

}  // namespace cuda

namespace {

constexpr Ladder kLadder("activation", cuda::kActivationRows);

void check_function(std::string_view where, const ActivationFunction& f) {
  check_enumerator(where, "kind", f.kind, Activation::clip);
  const auto refuse = [&](const char* expected) {
    throw Error(ErrorKind::usage,
                str(where, ": expected ", expected, ", found alpha ", f.alpha, ", beta ", f.beta));
  };
  if (!std::isfinite(f.alpha) || !std::isfinite(f.beta)) refuse("finite numbers");
  const bool is_sloped = f.kind == Activation::leaky_relu || f.kind == Activation::elu;
  if (is_sloped && f.alpha < 0) refuse("an alpha of at least 0");
  if (f.kind == Activation::hard_sigmoid && f.alpha <= 0) refuse("an alpha above 0");
  if (f.kind == Activation::clip && f.alpha >= f.beta) refuse("an alpha below beta");
}

}  // namespace

void activation_forward(float* y, const float* x, std::int64_t n,
                        const ActivationFunction& function, std::string_view variant,
                        const Stream& stream) {
  constexpr std::string_view kWhere = "activation_forward";
  check_function(kWhere, function);
  const auto& row = kLadder.select(variant, {}, stream.device());
  if (checked_elements(kWhere, {n}) == 0) return;
  check_call(kWhere, stream, {writes("y", y, n).may_be("x"), reads("x", x, n)});
  if (stream.device().is_cpu()) return (*row.cpu)().forward(y, x, n, function);
  row.forward.run(y, x, n, function, stream);
}

void activation_backward(float* dx, const float* dy, const float* y, std::int64_t n,
                         const ActivationFunction& function, GradientMode mode,
                         std::string_view variant, const Stream& stream) {
  constexpr std::string_view kWhere = "activation_backward";
  check_function(kWhere, function);
  check_mode(kWhere, mode);
  const auto& row = kLadder.select(variant, {}, stream.device());
  if (checked_elements(kWhere, {n}) == 0) return;
  check_call(kWhere, stream,
             {writes("dx", dx, n).may_be("dy"), reads("dy", dy, n), reads("y", y, n)});
  if (stream.device().is_cpu()) return (*row.cpu)().backward(dx, dy, y, n, function, mode);
  row.backward.run(dx, dy, y, n, function, mode, stream);
}

void prelu_forward(float* y, const float* x, const float* slope, std::int64_t outer,
                   std::int64_t channels, std::int64_t inner, std::string_view variant,
                   const Stream& stream) {
  const auto& row = kLadder.select(variant, {}, stream.device());
  const std::int64_t n = checked_elements("prelu_forward", {outer, channels, inner});
  if (n == 0) return;
  check_call("prelu_forward", stream,
             {writes("y", y, n).may_be("x"), reads("x", x, n), reads("slope", slope, channels)});
  if (stream.device().is_cpu()) {
    return (*row.cpu)().prelu_forward(y, x, slope, outer, channels, inner);
  }
  row.prelu_forward.run(y, x, slope, outer, channels, inner, stream);
}

void prelu_backward(float* dx, float* dslope, const float* dy, const float* x, const float* slope,
                    std::int64_t outer, std::int64_t channels, std::int64_t inner,
                    GradientMode mode, std::string_view variant, const Stream& stream) {
  check_mode("prelu_backward", mode);
  const auto& row = kLadder.select(variant, {}, stream.device());
  const std::int64_t n = checked_elements("prelu_backward", {outer, channels, inner});
  if (channels == 0) return;
  if (n == 0 && mode == GradientMode::accumulate) return;
  check_call("prelu_backward", stream,
             {writes("dx", dx, n).may_be("dy").or_null(), writes("dslope", dslope, channels),
              reads("dy", dy, n), reads("x", x, n), reads("slope", slope, channels)});
  if (stream.device().is_cpu()) {
    return (*row.cpu)().prelu_backward(dx, dslope, dy, x, slope, outer, channels, inner, mode);
  }
  row.prelu_backward.run(dx, dslope, dy, x, slope, outer, channels, inner, mode, stream);
}

void bias_forward(float* y, const float* x, const float* bias, std::int64_t outer,
                  std::int64_t channels, std::int64_t inner, std::string_view variant,
                  const Stream& stream) {
  const auto& row = kLadder.select(variant, {}, stream.device());
  const std::int64_t n = checked_elements("bias_forward", {outer, channels, inner});
  if (n == 0) return;
  check_call("bias_forward", stream,
             {writes("y", y, n).may_be("x"), reads("x", x, n), reads("bias", bias, channels)});
  if (stream.device().is_cpu())
    return (*row.cpu)().bias_forward(y, x, bias, outer, channels, inner);
  row.bias_forward.run(y, x, bias, outer, channels, inner, stream);
}

void bias_backward(float* db, const float* dy, std::int64_t outer, std::int64_t channels,
                   std::int64_t inner, GradientMode mode, std::string_view variant,
                   const Stream& stream) {
  check_mode("bias_backward", mode);
  const auto& row = kLadder.select(variant, {}, stream.device());
  const std::int64_t elements = checked_elements("bias_backward", {outer, channels, inner});
  if (channels == 0) return;
  if (elements == 0 && mode == GradientMode::accumulate) return;
  check_call("bias_backward", stream, {writes("db", db, channels), reads("dy", dy, elements)});
  if (stream.device().is_cpu()) {
    return (*row.cpu)().bias_backward(db, dy, outer, channels, inner, mode);
  }
  row.bias_backward.run(db, dy, outer, channels, inner, mode, stream);
}

Rungs activation_rungs() {
  return kLadder.rungs();
}

}  // namespace weft::kernels
