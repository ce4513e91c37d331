// SPDX-License-Identifier: MIT
// The validation and dispatch of a normalisation of each input alone. There is one way on each
// device, so it has no table.
#include "kernels/batch_norm/group_norm.h"

#include "kernels/batch_norm/cpu/group_norm_table.h"
#include "kernels/batch_norm/parts/group_norm_launchers.h"
#include "kernels/checks.h"

namespace weft::kernels {

namespace {

std::int64_t checked_values(std::string_view where, const GroupNormDims& d) {
  const std::int64_t values = checked_elements(where, {d.n, d.c, d.inner});
  if (d.groups < 1 || d.c % d.groups != 0) {
    throw Error(ErrorKind::usage, str(where, ": expected groups that divide the channels, found ",
                                      d.groups, " groups of ", d.c));
  }
  if (d.c > INT32_MAX) throw Error(ErrorKind::usage, str(where, ": too many channels: ", d.c));
  return values;
}

}  // namespace

void group_norm_forward(float* y, float* mean, float* inv_std, const float* x, const float* gamma,
                        const float* beta, float eps, const GroupNormDims& dims,
                        const Stream& stream) {
  constexpr std::string_view kWhere = "group_norm_forward";
  const std::int64_t values = checked_values(kWhere, dims), rows = dims.n * dims.groups;
  if (!(eps > 0)) throw Error(ErrorKind::usage, str(kWhere, ": expected eps > 0, found ", eps));
  if (values == 0) return;
  check_call(kWhere, stream,
             {writes("y", y, values), writes("mean", mean, rows), writes("inv_std", inv_std, rows),
              reads("x", x, values), reads("gamma", gamma, dims.c), reads("beta", beta, dims.c)});
  if (stream.device().is_cpu()) {
    return select_group_norm_cpu().forward(y, mean, inv_std, x, gamma, beta, eps, dims);
  }
  WEFT_CUDA(cuda::group_norm_forward)(y, mean, inv_std, x, gamma, beta, eps, dims, stream);
}

void group_norm_backward(float* dx, float* dgamma, float* dbeta, const float* dy, const float* x,
                         const float* gamma, const float* mean, const float* inv_std,
                         const GroupNormDims& dims, GradientMode mode, const Stream& stream) {
  constexpr std::string_view kWhere = "group_norm_backward";
  check_mode(kWhere, mode);
  const std::int64_t values = checked_values(kWhere, dims), rows = dims.n * dims.groups;
  if (dims.c == 0 || (values == 0 && mode == GradientMode::accumulate)) return;
  check_call(
      kWhere, stream,
      {writes("dx", dx, values).or_null(), writes("dgamma", dgamma, dims.c),
       writes("dbeta", dbeta, dims.c), reads("dy", dy, values), reads("x", x, values),
       reads("gamma", gamma, dims.c), reads("mean", mean, rows), reads("inv_std", inv_std, rows)});
  const bool wants_dx = dx != nullptr && values > 0;
  if (stream.device().is_cpu()) {
    const GroupNormCpu& cpu = select_group_norm_cpu();
    cpu.parameter_gradients(dgamma, dbeta, dy, x, mean, inv_std, dims, mode);
    if (wants_dx) cpu.input_gradient(dx, dy, x, gamma, mean, inv_std, dims);
    return;
  }
  WEFT_CUDA(cuda::group_norm_parameter_gradients)
  (dgamma, dbeta, dy, x, mean, inv_std, dims, mode, stream);
  if (wants_dx) {
    WEFT_CUDA(cuda::group_norm_input_gradient)(dx, dy, x, gamma, mean, inv_std, dims, stream);
  }
}

}  // namespace weft::kernels
