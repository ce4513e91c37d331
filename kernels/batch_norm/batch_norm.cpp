// SPDX-License-Identifier: MIT
#include "kernels/batch_norm/batch_norm.h"

#include <array>

#include "kernels/batch_norm/cpu_table.h"
#include "kernels/checks.h"

#ifdef WEFT_WITH_CUDA
#include "kernels/batch_norm/cuda.h"
#endif

namespace weft::kernels {

namespace {

std::int64_t check_dims(std::string_view where, const BatchNormDims& d) {
  return checked_elements(where, {d.n, d.c, d.inner});
}

// Statistics of a single value have no variance. Returns whether there are channels.
bool check_training(std::string_view where, const BatchNormDims& d) {
  static_cast<void>(check_dims(where, d));
  if (checked_elements(where, {d.n, d.inner}) <= 1) {
    throw Error(ErrorKind::usage, str(where,
                                      ": training needs more than one value per channel, "
                                      "found shape (",
                                      d.n, ", ", d.c, ", ", d.inner, ")"));
  }
  return d.c > 0;
}

}  // namespace

void batch_norm_forward(float* y, float* mean, float* inv_std, float* running_mean,
                        float* running_var, const float* x, const float* gamma, const float* beta,
                        float eps, float momentum, const BatchNormDims& dims,
                        const Stream& stream) {
  if (!check_training("batch_norm_forward", dims)) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda())
    return cuda::batch_norm_forward(y, mean, inv_std, running_mean, running_var, x, gamma, beta,
                                    eps, momentum, dims, stream);
#endif
  static_cast<void>(stream);
  select_batch_norm_cpu().forward(y, mean, inv_std, running_mean, running_var, x, gamma, beta, eps,
                                  momentum, dims);
}

void batch_norm_inference(float* y, const float* x, const float* running_mean,
                          const float* running_var, const float* gamma, const float* beta,
                          float eps, const BatchNormDims& dims, const Stream& stream) {
  if (check_dims("batch_norm_inference", dims) == 0) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda())
    return cuda::batch_norm_inference(y, x, running_mean, running_var, gamma, beta, eps, dims,
                                      stream);
#endif
  static_cast<void>(stream);
  select_batch_norm_cpu().inference(y, x, running_mean, running_var, gamma, beta, eps, dims);
}

std::size_t batch_norm_workspace_bytes(const BatchNormDims& dims, Device device) {
  static_cast<void>(check_dims("batch_norm_workspace_bytes", dims));
  static_cast<void>(device);
  return 0;  // both devices keep the two sums of a channel in one thread or block
}

void batch_norm_backward(float* dx, float* dgamma, float* dbeta, const float* dy, const float* x,
                         const float* gamma, const float* mean, const float* inv_std,
                         const BatchNormDims& dims, GradientMode dx_mode,
                         GradientMode parameter_mode, Workspace workspace, const Stream& stream) {
  static_cast<void>(workspace);
  if (!check_training("batch_norm_backward", dims)) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda())
    return cuda::batch_norm_backward(dx, dgamma, dbeta, dy, x, gamma, mean, inv_std, dims, dx_mode,
                                     parameter_mode, stream);
#endif
  static_cast<void>(stream);
  select_batch_norm_cpu().backward(dx, dgamma, dbeta, dy, x, gamma, mean, inv_std, dims, dx_mode,
                                   parameter_mode);
}

namespace {

constexpr std::array kVariants = {
    VariantInfo{"two_pass",
                "one block per channel: the mean, then the centred squares, then the output, "
                "without cancellation",
                true, true, 0, ""},
};

}  // namespace

std::span<const VariantInfo> batch_norm_variants() {
  return kVariants;
}

}  // namespace weft::kernels
