// SPDX-License-Identifier: MIT
#include "kernels/activation/activation.h"

#include "kernels/activation/cpu/table.h"
#include "kernels/checks.h"

namespace weft::kernels {
namespace cuda {  // in rungs/

decltype(kernels::activation_forward) activation_forward;
decltype(kernels::activation_backward) activation_backward;
decltype(kernels::bias_forward) bias_forward;
decltype(kernels::bias_backward) bias_backward;

}  // namespace cuda

void activation_forward(float* y, const float* x, std::int64_t n, Activation kind,
                        const Stream& stream) {
  constexpr std::string_view kWhere = "activation_forward";
  check_enumerator(kWhere, "kind", kind, Activation::tanh);
  if (checked_elements(kWhere, {n}) == 0) return;
  check_call(kWhere, stream, {writes("y", y, n).may_be("x"), reads("x", x, n)});
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return cuda::activation_forward(y, x, n, kind, stream);
#endif
  static_cast<void>(stream);
  select_activation_cpu().forward(y, x, n, kind);
}

void activation_backward(float* dx, const float* dy, const float* y, std::int64_t n,
                         Activation kind, GradientMode mode, const Stream& stream) {
  constexpr std::string_view kWhere = "activation_backward";
  check_enumerator(kWhere, "kind", kind, Activation::tanh);
  check_mode(kWhere, mode);
  if (checked_elements(kWhere, {n}) == 0) return;
  check_call(kWhere, stream,
             {writes("dx", dx, n).may_be("dy"), reads("dy", dy, n), reads("y", y, n)});
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return cuda::activation_backward(dx, dy, y, n, kind, mode, stream);
  }
#endif
  static_cast<void>(stream);
  select_activation_cpu().backward(dx, dy, y, n, kind, mode);
}

void bias_forward(float* y, const float* x, const float* bias, std::int64_t outer,
                  std::int64_t channels, std::int64_t inner, const Stream& stream) {
  const std::int64_t n = checked_elements("bias_forward", {outer, channels, inner});
  if (n == 0) return;
  check_call("bias_forward", stream,
             {writes("y", y, n).may_be("x"), reads("x", x, n), reads("bias", bias, channels)});
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return cuda::bias_forward(y, x, bias, outer, channels, inner, stream);
  }
#endif
  static_cast<void>(stream);
  select_activation_cpu().bias_forward(y, x, bias, outer, channels, inner);
}

void bias_backward(float* db, const float* dy, std::int64_t outer, std::int64_t channels,
                   std::int64_t inner, GradientMode mode, const Stream& stream) {
  check_mode("bias_backward", mode);
  const std::int64_t elements = checked_elements("bias_backward", {outer, channels, inner});
  if (channels == 0) return;
  if (elements == 0 && mode == GradientMode::accumulate) return;
  check_call("bias_backward", stream, {writes("db", db, channels), reads("dy", dy, elements)});
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return cuda::bias_backward(db, dy, outer, channels, inner, mode, stream);
  }
#endif
  static_cast<void>(stream);
  select_activation_cpu().bias_backward(db, dy, outer, channels, inner, mode);
}

namespace {

constexpr Rung kRungs[] = {
    {.name = "vectorized",
     .summary = "one pass in 16-byte pieces, several in flight per thread: memory bandwidth is the "
                "whole story",
     .prefer = "always",
     .on_cpu = true},
};

}  // namespace

Rungs activation_rungs() {
  return Rungs(kRungs);
}

}  // namespace weft::kernels
