// SPDX-License-Identifier: MIT
#include "kernels/batch_norm/batch_norm.h"

#include <cmath>
#include <string>

#include "kernels/batch_norm/cpu/table.h"
#include "kernels/batch_norm/launchers.h"
#include "kernels/batch_norm/parts/split_plan.h"
#include "kernels/checks.h"

namespace weft::kernels {
namespace {

std::size_t split_bytes(const BatchNormDims& dims) {
  static_assert(sizeof(GradientSums) <= sizeof(Moments));
  return static_cast<std::size_t>(batch_norm_parts(dims) * dims.c) * sizeof(Moments);
}

bool split_fits(const BatchNormDims& dims) {
  constexpr std::int64_t kMostChannels = 65535;  // of a grid's second axis
  return dims.c <= kMostChannels && dims.n * dims.inner <= INT32_MAX;
}

}  // namespace

namespace cuda {

struct BatchNormRow {
  struct Problem {
    BatchNormDims dims;
    Workspace workspace;
    bool over_ranks = false;  // one of the steps of over_ranks.h
  };

  Rung rung;
  bool splits = false;         // channels over blocks
  bool has_workspace = false;  // by way of a workspace
  Launcher<BatchNormForward> forward = {};
  Launcher<BatchNormBackward> backward = {};
  Launcher<BatchNormMoments> moments = {};
  Launcher<BatchNormGradientSums> gradient_sums = {};
  bool stands_for_inference = false;

  constexpr bool complete() const {
    return forward.is("batch_norm_forward_", rung.name) &&
           backward.is("batch_norm_backward_", rung.name) &&
           moments.belongs_to("batch_norm_moments_", rung.name) &&
           gradient_sums.belongs_to("batch_norm_gradient_sums_", rung.name) &&
           static_cast<bool>(moments) == static_cast<bool>(gradient_sums);
  }
  std::string takes(const Problem& problem, Device) const {
    const BatchNormDims& d = problem.dims;
    if (problem.over_ranks && !moments) return "it has no sums over ranks";
    if (splits && !split_fits(d)) {
      return str("it takes less than 2^31 values in each of at most 65535 channels, found shape (",
                 d.n, ", ", d.c, ", ", d.inner, ")");
    }
    if (!has_workspace || problem.workspace.bytes >= split_bytes(d)) return "";
    return str("it expects a workspace of ", split_bytes(d), " bytes, found ",
               problem.workspace.bytes);
  }
};

constexpr BatchNormRow kBatchNormRows[] = {
    {.rung = {.name = "two_pass",
              .summary = "one block per channel: the mean, then the centred squares, then the "
                         "output, without cancellation",
              .prefer = "on a CPU, and for many channels",
              .on_cpu = true},
     .forward = WEFT_LAUNCHER(BatchNormForward, batch_norm_forward_two_pass),
     .backward = WEFT_LAUNCHER(BatchNormBackward, batch_norm_backward_two_pass),
     .moments = WEFT_LAUNCHER(BatchNormMoments, batch_norm_moments_two_pass),
     .gradient_sums = WEFT_LAUNCHER(BatchNormGradientSums, batch_norm_gradient_sums_two_pass),
     .stands_for_inference = true},
    {.rung = {.name = "split",
              .summary = "several blocks per channel: mean and squares in one walk, merged part by "
                         "part, then the output",
              .prefer = "for few channels on a GPU",
              .needs = "less than 2^31 values per channel, and its workspace"},
     .splits = true,
     .has_workspace = true,
     .forward = WEFT_LAUNCHER(BatchNormForward, batch_norm_forward_split),
     .backward = WEFT_LAUNCHER(BatchNormBackward, batch_norm_backward_split),
     .moments = WEFT_LAUNCHER(BatchNormMoments, batch_norm_moments_split),
     .gradient_sums = WEFT_LAUNCHER(BatchNormGradientSums, batch_norm_gradient_sums_split)},
    {.rung = {.name = "cluster_per_channel",
              .summary = "a channel in the shared memory of up to 8 blocks: one read from memory",
              .prefer = "for channels that a cluster holds, on Hopper",
              .compute_capability = 90,
              .needs = "less than 2^31 values per channel, and no ranks to sum over"},
     .splits = true,
     .forward = WEFT_LAUNCHER(BatchNormForward, batch_norm_forward_cluster_per_channel),
     .backward = WEFT_LAUNCHER(BatchNormBackward, batch_norm_backward_cluster_per_channel)},
};

}  // namespace cuda

namespace {

using Problem = cuda::BatchNormRow::Problem;

bool takes(std::string_view name, const Problem& problem, Device device);

Choice automatic(const Problem& problem, Device device) {
  const BatchNormDims& d = problem.dims;
  // The second walk over a smaller array finds all of it in the L2 cache: 50 MB on an H200.
  constexpr std::int64_t kCached = 10'000'000;
  const bool cluster =
      d.n * d.c * d.inner > kCached && d.c >= 16 && d.n * d.inner <= cuda::kClusterValues;
  if (cluster && takes("cluster_per_channel", problem, device)) {
    return {"cluster_per_channel", "a cluster holds a channel, and the L2 cache not the array"};
  }
  const bool split = device.is_cuda() && split_fits(d) && batch_norm_parts(d) > 1 &&
                     problem.workspace.bytes >= split_bytes(d);
  if (split) return {"split", "a block per channel would leave multiprocessors idle"};
  return {"two_pass", "a thread or a block has all of a channel"};
}

constexpr Ladder kLadder("batch_norm", cuda::kBatchNormRows, automatic);

bool takes(std::string_view name, const Problem& problem, Device device) {
  return kLadder.takes(name, problem, device);
}

std::int64_t check_dims(std::string_view where, const BatchNormDims& d) {
  return checked_elements(where, {d.n, d.c, d.inner});
}

// What `split` would need of the workspace; the others need none.
Argument scratch_of(const cuda::BatchNormRow& row, const BatchNormDims& d, Workspace workspace) {
  return scratch(workspace, row.has_workspace ? split_bytes(d) : 0);
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

void check_scalars(std::string_view where, float eps, float momentum = 0) {
  check_finite(where, "eps", eps);
  check_finite(where, "momentum", momentum);
}

// How many values a channel has on all ranks.
double checked_values(std::string_view where, const BatchNormDims& d, std::int64_t all_n) {
  static_cast<void>(check_dims(where, d));
  const std::int64_t values = checked_elements(where, {all_n, d.inner});
  if (all_n < d.n || values <= 1) {
    throw Error(ErrorKind::usage,
                str(where,
                    ": training needs more than one value per channel on all ranks, and no more "
                    "rows here than there, found shape (",
                    d.n, ", ", d.c, ", ", d.inner, ") of ", all_n, " rows"));
  }
  return static_cast<double>(values);
}

}  // namespace

void batch_norm_forward(float* y, float* mean, float* inv_std, float* running_mean,
                        float* running_var, const float* x, const float* gamma, const float* beta,
                        float eps, float momentum, const BatchNormDims& dims,
                        const BatchNormOptions& options, Workspace workspace,
                        const Stream& stream) {
  constexpr std::string_view kWhere = "batch_norm_forward";
  check_scalars(kWhere, eps, momentum);
  if (!check_training(kWhere, dims)) return;
  const cuda::BatchNormRow& row =
      kLadder.select(options.variant, {dims, workspace}, stream.device());
  const std::int64_t n = dims.n * dims.c * dims.inner, c = dims.c;
  check_call(kWhere, stream,
             {writes("y", y, n), writes("mean", mean, c), writes("inv_std", inv_std, c),
              writes("running_mean", running_mean, c), writes("running_var", running_var, c),
              reads("x", x, n), reads("gamma", gamma, c), reads("beta", beta, c),
              scratch_of(row, dims, workspace)});
  if (stream.device().is_cuda()) {
    return row.forward.run(y, mean, inv_std, running_mean, running_var, x, gamma, beta, eps,
                           momentum, dims, workspace, stream);
  }
  select_batch_norm_cpu().forward(y, mean, inv_std, running_mean, running_var, x, gamma, beta, eps,
                                  momentum, dims);
}

void batch_norm_inference(float* y, const float* x, const float* running_mean,
                          const float* running_var, const float* gamma, const float* beta,
                          float eps, const BatchNormDims& dims, const Stream& stream) {
  constexpr std::string_view kWhere = "batch_norm_inference";
  check_scalars(kWhere, eps);
  const std::int64_t n = check_dims(kWhere, dims), c = dims.c;
  if (n == 0) return;
  check_call(
      kWhere, stream,
      {writes("y", y, n), reads("x", x, n), reads("running_mean", running_mean, c),
       reads("running_var", running_var, c), reads("gamma", gamma, c), reads("beta", beta, c)});
  if (stream.device().is_cuda())
    return WEFT_CUDA(cuda::batch_norm_inference)(y, x, running_mean, running_var, gamma, beta, eps,
                                                 dims, stream);
  select_batch_norm_cpu().inference(y, x, running_mean, running_var, gamma, beta, eps, dims);
}

std::size_t batch_norm_workspace_bytes(const BatchNormDims& dims, Device device) {
  static_cast<void>(check_dims("batch_norm_workspace_bytes", dims));
  if (device.is_cpu() || !split_fits(dims)) return 0;  // a thread or block has all of a channel
  return split_bytes(dims);
}

void batch_norm_backward(float* dx, float* dgamma, float* dbeta, const float* dy, const float* x,
                         const float* gamma, const float* mean, const float* inv_std,
                         const BatchNormDims& dims, GradientMode dx_mode,
                         GradientMode parameter_mode, const BatchNormOptions& options,
                         Workspace workspace, const Stream& stream) {
  constexpr std::string_view kWhere = "batch_norm_backward";
  check_mode(kWhere, dx_mode, "dx_mode");
  check_mode(kWhere, parameter_mode, "parameter_mode");
  if (!check_training(kWhere, dims)) return;
  const cuda::BatchNormRow& row =
      kLadder.select(options.variant, {dims, workspace}, stream.device());
  const std::int64_t n = dims.n * dims.c * dims.inner, c = dims.c;
  check_call(
      kWhere, stream,
      {writes("dx", dx, n), writes("dgamma", dgamma, c), writes("dbeta", dbeta, c),
       reads("dy", dy, n), reads("x", x, n), reads("gamma", gamma, c), reads("mean", mean, c),
       reads("inv_std", inv_std, c), scratch_of(row, dims, workspace)});
  if (stream.device().is_cuda()) {
    return row.backward.run(dx, dgamma, dbeta, dy, x, gamma, mean, inv_std, dims, dx_mode,
                            parameter_mode, options.relu_mask, workspace, stream);
  }
  select_batch_norm_cpu().backward(dx, dgamma, dbeta, dy, x, gamma, mean, inv_std, dims, dx_mode,
                                   parameter_mode, options.relu_mask);
}

void batch_norm_moments(Moments* moments, float* mean, const float* x, const BatchNormDims& dims,
                        std::int64_t all_n, const BatchNormOptions& options, Workspace workspace,
                        const Stream& stream) {
  const double all = checked_values("batch_norm_moments", dims, all_n);
  const cuda::BatchNormRow& row =
      kLadder.select(options.variant, {dims, workspace, true}, stream.device());
  check_call("batch_norm_moments", stream,
             {writes("moments", moments, dims.c), writes("mean", mean, dims.c),
              reads("x", x, dims.n * dims.c * dims.inner), scratch_of(row, dims, workspace)});
  if (stream.device().is_cuda()) {
    return row.moments.run(moments, mean, x, dims, all, workspace, stream);
  }
  select_batch_norm_cpu().moments(moments, mean, x, dims, all);
}

void batch_norm_variance(float* var, const Moments* moments, const float* mean,
                         const BatchNormDims& dims, std::int64_t all_n, const Stream& stream) {
  const double all = checked_values("batch_norm_variance", dims, all_n);
  check_call(
      "batch_norm_variance", stream,
      {writes("var", var, dims.c), reads("moments", moments, dims.c), reads("mean", mean, dims.c)});
  if (stream.device().is_cuda()) {
    return WEFT_CUDA(cuda::batch_norm_variance)(var, moments, mean, dims.c, all, stream);
  }
  for (std::int64_t c = 0; c < dims.c; ++c) {
    const Moments& own = moments[c];
    const double squares = own.squares < 0 ? 0 : own.squares;  // rounding, of equal values
    const double distance = own.mean - static_cast<double>(mean[c]);
    var[c] = static_cast<float>((squares + own.count * distance * distance) / all);
  }
}

void batch_norm_finish(float* inv_std, float* running_mean, float* running_var, const float* mean,
                       const float* var, float eps, float momentum, const BatchNormDims& dims,
                       std::int64_t all_n, const Stream& stream) {
  check_scalars("batch_norm_finish", eps, momentum);
  const double all = checked_values("batch_norm_finish", dims, all_n);
  check_call(
      "batch_norm_finish", stream,
      {writes("inv_std", inv_std, dims.c).may_be("var"),
       writes("running_mean", running_mean, dims.c), writes("running_var", running_var, dims.c),
       reads("mean", mean, dims.c), reads("var", var, dims.c)});
  if (stream.device().is_cuda()) {
    return WEFT_CUDA(cuda::batch_norm_finish)(inv_std, running_mean, running_var, mean, var, eps,
                                              momentum, dims.c, all, stream);
  }
  for (std::int64_t c = 0; c < dims.c; ++c) {
    const double biased = static_cast<double>(var[c]);
    inv_std[c] = static_cast<float>(1 / std::sqrt(biased + static_cast<double>(eps)));
    const float unbiased = static_cast<float>(biased * (all / (all - 1)));
    running_mean[c] = (1 - momentum) * running_mean[c] + momentum * mean[c];
    running_var[c] = (1 - momentum) * running_var[c] + momentum * unbiased;
  }
}

void batch_norm_gradient_sums(float* dgamma, float* dbeta, float* means, const float* dy,
                              const float* x, const float* mean, const float* inv_std,
                              const BatchNormDims& dims, std::int64_t all_n,
                              GradientMode parameter_mode, const BatchNormOptions& options,
                              Workspace workspace, const Stream& stream) {
  constexpr std::string_view kWhere = "batch_norm_gradient_sums";
  check_mode(kWhere, parameter_mode, "parameter_mode");
  const double all = checked_values(kWhere, dims, all_n);
  const cuda::BatchNormRow& row =
      kLadder.select(options.variant, {dims, workspace, true}, stream.device());
  const std::int64_t n = dims.n * dims.c * dims.inner, c = dims.c;
  check_call(kWhere, stream,
             {writes("dgamma", dgamma, c), writes("dbeta", dbeta, c), writes("means", means, 2 * c),
              reads("dy", dy, n), reads("x", x, n), reads("mean", mean, c),
              reads("inv_std", inv_std, c), scratch_of(row, dims, workspace)});
  if (stream.device().is_cuda()) {
    return row.gradient_sums.run(dgamma, dbeta, means, dy, x, mean, inv_std, dims, all,
                                 parameter_mode, workspace, stream);
  }
  select_batch_norm_cpu().gradient_sums(dgamma, dbeta, means, dy, x, mean, inv_std, dims, all,
                                        parameter_mode);
}

void batch_norm_input_gradient(float* dx, const float* dy, const float* x, const float* gamma,
                               const float* mean, const float* inv_std, const float* means,
                               const BatchNormDims& dims, GradientMode dx_mode, bool relu_mask,
                               const Stream& stream) {
  constexpr std::string_view kWhere = "batch_norm_input_gradient";
  check_mode(kWhere, dx_mode, "dx_mode");
  const std::int64_t n = check_dims(kWhere, dims), c = dims.c;
  if (n == 0) return;
  check_call(kWhere, stream,
             {writes("dx", dx, n), reads("dy", dy, n), reads("x", x, n), reads("gamma", gamma, c),
              reads("mean", mean, c), reads("inv_std", inv_std, c), reads("means", means, 2 * c)});
  if (stream.device().is_cuda()) {
    return WEFT_CUDA(cuda::batch_norm_input_gradient)(dx, dy, x, gamma, mean, inv_std, means, dims,
                                                      dx_mode, relu_mask, stream);
  }
  select_batch_norm_cpu().input_gradient(dx, dy, x, gamma, mean, inv_std, means, dims, dx_mode,
                                         relu_mask);
}

bool batch_norm_stands_for_inference(std::string_view rung) {
  return kLadder.of(rung, &cuda::BatchNormRow::stands_for_inference);
}

Rungs batch_norm_rungs() {
  return kLadder.rungs();
}

}  // namespace weft::kernels
