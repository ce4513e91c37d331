// SPDX-License-Identifier: MIT
#include "kernels/batch_norm/batch_norm.h"

#include <array>

#include "kernels/batch_norm/cpu_table.h"
#include "kernels/batch_norm/parts.h"
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

constexpr std::array kVariants = {
    VariantInfo{"two_pass",
                "one block per channel: the mean, then the centred squares, then the output, "
                "without cancellation",
                true, true, 0, ""},
    VariantInfo{
        "split",
        "several blocks per channel: mean and squares in one walk, merged part by part, then "
        "the output",
        false, true, 0, "less than 2^31 values per channel"},
};

bool split_takes(const BatchNormDims& dims) {
  constexpr std::int64_t kMostChannels = 65535;  // of a grid's second axis
  return dims.c <= kMostChannels && dims.n * dims.inner <= INT32_MAX;
}

std::size_t needed_bytes(const BatchNormDims& dims) {
  static_assert(sizeof(GradientSums) <= sizeof(Moments));
  return static_cast<std::size_t>(batch_norm_parts(dims) * dims.c) * sizeof(Moments);
}

// Which rung runs, after all checks.
BatchNormVariant chosen(std::string_view where, const BatchNormDims& dims, BatchNormVariant variant,
                        const Workspace& workspace, Device device) {
  if (variant == BatchNormVariant::automatic) {
    const bool split = device.is_cuda() && split_takes(dims) && batch_norm_parts(dims) > 1 &&
                       workspace.bytes >= needed_bytes(dims);
    return split ? BatchNormVariant::split : BatchNormVariant::two_pass;
  }
  if (variant == BatchNormVariant::two_pass) return variant;
  if (device.is_cpu()) {
    throw Error(ErrorKind::usage, str(where, " variant split does not run on ", device));
  }
  if (!split_takes(dims)) {
    throw Error(ErrorKind::usage,
                str(where, " variant split takes less than 2^31 values in each of at most 65535 ",
                    "channels, found shape (", dims.n, ", ", dims.c, ", ", dims.inner, ")"));
  }
  if (workspace.bytes < needed_bytes(dims)) {
    throw Error(ErrorKind::usage, str(where, ": expected a workspace of ", needed_bytes(dims),
                                      " bytes, found ", workspace.bytes));
  }
  return variant;
}

}  // namespace

void batch_norm_forward(float* y, float* mean, float* inv_std, float* running_mean,
                        float* running_var, const float* x, const float* gamma, const float* beta,
                        float eps, float momentum, const BatchNormDims& dims,
                        const BatchNormOptions& options, Workspace workspace,
                        const Stream& stream) {
  if (!check_training("batch_norm_forward", dims)) return;
  const BatchNormVariant variant =
      chosen("batch_norm_forward", dims, options.variant, workspace, stream.device());
#ifdef WEFT_WITH_CUDA
  if (variant == BatchNormVariant::split) {
    return cuda::batch_norm_forward_split(y, mean, inv_std, running_mean, running_var, x, gamma,
                                          beta, eps, momentum, dims, workspace, stream);
  }
  if (stream.device().is_cuda()) {
    return cuda::batch_norm_forward_two_pass(y, mean, inv_std, running_mean, running_var, x, gamma,
                                             beta, eps, momentum, dims, stream);
  }
#endif
  static_cast<void>(variant), static_cast<void>(stream);
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
  if (device.is_cpu() || !split_takes(dims)) return 0;  // a thread or block has all of a channel
  return needed_bytes(dims);
}

void batch_norm_backward(float* dx, float* dgamma, float* dbeta, const float* dy, const float* x,
                         const float* gamma, const float* mean, const float* inv_std,
                         const BatchNormDims& dims, GradientMode dx_mode,
                         GradientMode parameter_mode, const BatchNormOptions& options,
                         Workspace workspace, const Stream& stream) {
  if (!check_training("batch_norm_backward", dims)) return;
  const BatchNormVariant variant =
      chosen("batch_norm_backward", dims, options.variant, workspace, stream.device());
#ifdef WEFT_WITH_CUDA
  if (variant == BatchNormVariant::split) {
    return cuda::batch_norm_backward_split(dx, dgamma, dbeta, dy, x, gamma, mean, inv_std, dims,
                                           dx_mode, parameter_mode, options.relu_mask, workspace,
                                           stream);
  }
  if (stream.device().is_cuda()) {
    return cuda::batch_norm_backward_two_pass(dx, dgamma, dbeta, dy, x, gamma, mean, inv_std, dims,
                                              dx_mode, parameter_mode, options.relu_mask, stream);
  }
#endif
  static_cast<void>(variant), static_cast<void>(stream);
  select_batch_norm_cpu().backward(dx, dgamma, dbeta, dy, x, gamma, mean, inv_std, dims, dx_mode,
                                   parameter_mode, options.relu_mask);
}

std::span<const VariantInfo> batch_norm_variants() {
  return kVariants;
}

BatchNormVariant parse_batch_norm_variant(std::string_view name) {
  if (name == "two_pass") return BatchNormVariant::two_pass;
  if (name == "split") return BatchNormVariant::split;
  throw Error(ErrorKind::usage, str("unknown batch_norm variant ", name));
}

}  // namespace weft::kernels
