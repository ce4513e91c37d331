// SPDX-License-Identifier: MIT
// Validation, the table of variants and dispatch of softmax.
#include "kernels/softmax/softmax.h"

#include <array>
#include <cstdint>
#include <string>

#include "engine/device.h"
#include "kernels/checks.h"
#include "kernels/choices.h"
#include "kernels/softmax/cpu_table.h"
#include "kernels/softmax/cuda.h"

namespace weft::kernels {

namespace {

struct Row {
  SoftmaxVariant variant;
  std::int64_t longest;  // row that it takes
  VariantInfo info;
};

constexpr std::array<Row, 5> kRows{{
    {SoftmaxVariant::three_pass,
     INT32_MAX,
     {.name = "three_pass",
      .summary = "a block walks its row three times: maximum, sum of exponentials, output",
      .on_cpu = true,
      .on_cuda = true}},
    {SoftmaxVariant::online,
     INT32_MAX,
     {.name = "online",
      .summary =
          "maximum and sum in one walk, the sum corrected when the maximum grows; the output "
          "in a second",
      .on_cuda = true}},
    {SoftmaxVariant::warp_per_row,
     cuda::kWarpColumns,
     {.name = "warp_per_row",
      .summary = "a row in the registers of a warp: one read, one write, reductions by shuffles",
      .on_cuda = true,
      .needs = "cols <= 1024"}},
    {SoftmaxVariant::block_per_row,
     cuda::kBlockColumns,
     {.name = "block_per_row",
      .summary = "a row in the registers of a block: one read and one write of longer rows",
      .on_cuda = true,
      .needs = "cols <= 16384"}},
    {SoftmaxVariant::cluster_per_row,
     cuda::kClusterColumns,
     {.name = "cluster_per_row",
      .summary =
          "a row in the registers of up to 8 blocks, which leaves every SM room for parts of "
          "several rows",
      .on_cuda = true,
      .compute_capability = 90,
      .needs = "cols <= 131072"}},
}};

constexpr auto kInfos = [] {
  std::array<VariantInfo, kRows.size()> infos{};
  for (std::size_t i = 0; i < kRows.size(); ++i) infos[i] = kRows[i].info;
  return infos;
}();

const Row& row_of(SoftmaxVariant variant) {
  for (const Row& row : kRows) {
    if (row.variant == variant) return row;
  }
  throw Error(ErrorKind::usage, "softmax: no such variant");
}

bool runs_on(const VariantInfo& info, Device device) {
  if (device.is_cpu()) return info.on_cpu;
  return info.on_cuda && device_properties(device).compute_capability >= info.compute_capability;
}

Chosen<SoftmaxVariant> automatic(std::int64_t cols, Device device) {
  if (device.is_cpu()) return {SoftmaxVariant::three_pass, "vectors of the CPU"};
  if (cols <= cuda::kWarpColumns) {
    return {SoftmaxVariant::warp_per_row, "a row fits in the registers of a warp"};
  }
  // Beyond 8192 columns an SM holds one block_per_row only.
  if (cols > 8192 && softmax_takes(SoftmaxVariant::cluster_per_row, cols, device)) {
    return {SoftmaxVariant::cluster_per_row, "a row is more than half of what an SM holds"};
  }
  if (cols <= cuda::kBlockColumns) {
    return {SoftmaxVariant::block_per_row, "a row fits in the registers of a block"};
  }
  return {SoftmaxVariant::online, "a row fits nowhere and is read twice"};
}

// Checks the arguments; the variant to run, or automatic when there is nothing to compute.
SoftmaxVariant checked_variant(std::string_view where, std::int64_t rows, std::int64_t cols,
                               SoftmaxVariant variant, Device device) {
  const std::int64_t elements = checked_elements(where, {rows, cols});
  if (rows > 0 && cols == 0) {
    throw Error(ErrorKind::usage, str(where, ": shape (", rows, ", 0) has rows without columns"));
  }
  if (cols > INT32_MAX) {
    throw Error(ErrorKind::usage, str(where, ": at most 2^31 - 1 columns, found ", cols));
  }
  if (variant == SoftmaxVariant::automatic) variant = automatic(cols, device).variant;
  const Row& row = row_of(variant);
  if (!runs_on(row.info, device)) {
    throw Error(ErrorKind::usage,
                str(where, " variant ", row.info.name, " does not run on ", device));
  }
  if (cols > row.longest) {
    throw Error(ErrorKind::usage, str(where, " variant ", row.info.name, " takes at most ",
                                      row.longest, " columns, found ", cols));
  }
  return elements > 0 ? variant : SoftmaxVariant::automatic;
}

#ifdef WEFT_WITH_CUDA
struct Launchers {
  SoftmaxVariant variant;
  decltype(&cuda::softmax_forward_online) forward;
  decltype(&cuda::softmax_backward_online) backward;
  decltype(&cuda::softmax_cross_entropy_online) cross_entropy;
};

constexpr Launchers kLaunchers[] = {
    {SoftmaxVariant::three_pass, cuda::softmax_forward_three_pass,
     cuda::softmax_backward_three_pass, cuda::softmax_cross_entropy_three_pass},
    {SoftmaxVariant::online, cuda::softmax_forward_online, cuda::softmax_backward_online,
     cuda::softmax_cross_entropy_online},
    {SoftmaxVariant::warp_per_row, cuda::softmax_forward_warp, cuda::softmax_backward_warp,
     cuda::softmax_cross_entropy_warp},
    {SoftmaxVariant::block_per_row, cuda::softmax_forward_block, cuda::softmax_backward_block,
     cuda::softmax_cross_entropy_block},
    {SoftmaxVariant::cluster_per_row, cuda::softmax_forward_cluster, cuda::softmax_backward_cluster,
     cuda::softmax_cross_entropy_cluster},
};

const Launchers& launchers_of(SoftmaxVariant variant) {
  for (const Launchers& launchers : kLaunchers) {
    if (launchers.variant == variant) return launchers;
  }
  throw Error(ErrorKind::usage, "softmax: a variant without launchers");
}
#endif

}  // namespace

bool softmax_takes(SoftmaxVariant variant, std::int64_t cols, Device device) {
  if (variant == SoftmaxVariant::automatic) return true;
  const Row& row = row_of(variant);
  return runs_on(row.info, device) && cols <= row.longest;
}

void softmax_forward(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                     SoftmaxVariant variant, const Stream& stream) {
  variant = checked_variant("softmax_forward", rows, cols, variant, stream.device());
  if (variant == SoftmaxVariant::automatic) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) return launchers_of(variant).forward(y, x, rows, cols, stream);
#endif
  select_softmax_cpu().forward(y, x, rows, cols);
}

void softmax_backward(float* dx, const float* dy, const float* y, std::int64_t rows,
                      std::int64_t cols, GradientMode mode, SoftmaxVariant variant,
                      const Stream& stream) {
  variant = checked_variant("softmax_backward", rows, cols, variant, stream.device());
  if (variant == SoftmaxVariant::automatic) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return launchers_of(variant).backward(dx, dy, y, rows, cols, mode, stream);
  }
#endif
  select_softmax_cpu().backward(dx, dy, y, rows, cols, mode);
}

void softmax_cross_entropy(float* loss, float* dx, std::int32_t* prediction, const float* x,
                           const std::int32_t* labels, float scale, float smoothing,
                           std::int64_t rows, std::int64_t cols, SoftmaxVariant variant,
                           const Stream& stream) {
  if (!(smoothing >= 0 && smoothing < 1)) {
    throw Error(ErrorKind::usage,
                str("softmax_cross_entropy: expected 0 <= smoothing < 1, found ", smoothing));
  }
  variant = checked_variant("softmax_cross_entropy", rows, cols, variant, stream.device());
  if (variant == SoftmaxVariant::automatic) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return launchers_of(variant).cross_entropy(loss, dx, prediction, x, labels, scale, smoothing,
                                               rows, cols, stream);
  }
#endif
  select_softmax_cpu().cross_entropy(loss, dx, prediction, x, labels, scale, rows, cols, smoothing);
}

Choice softmax_choice(std::int64_t cols, Device device) {
  return named(kRows, automatic(cols, device));
}

std::span<const VariantInfo> softmax_variants() {
  return kInfos;
}

SoftmaxVariant parse_softmax_variant(std::string_view name) {
  if (name == "automatic") return SoftmaxVariant::automatic;
  std::string choices = "automatic";
  for (const Row& row : kRows) {
    if (row.info.name == name) return row.variant;
    choices += str(", ", row.info.name);
  }
  throw Error(ErrorKind::usage, str("unknown softmax variant ", name, "; choose from ", choices));
}

}  // namespace weft::kernels
