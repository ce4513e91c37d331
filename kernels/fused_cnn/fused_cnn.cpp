// SPDX-License-Identifier: MIT
#include "kernels/fused_cnn/fused_cnn.h"

#include <algorithm>
#include <array>

#include "kernels/checks.h"
#include "kernels/fused_cnn/cpu_table.h"
#include "kernels/fused_cnn/plan.h"
#include "kernels/fused_cnn/timed.h"

#ifdef WEFT_WITH_CUDA
#include "kernels/fused_cnn/cuda.h"
#endif

namespace weft::kernels {

std::int64_t FusedCnnDims::parameters() const {
  return filters1 * (kernel1 * kernel1 + 1) + filters2 * (filters1 * kernel2 * kernel2 + 1) +
         hidden1 * (features() + 1) + hidden2 * (hidden1 + 1) + classes * (hidden2 + 1);
}

namespace {

constexpr std::int64_t kMostExtent = 65536;  // of a dim; so that products stay far from 2^63

bool sensible(const FusedCnnDims& d) {
  for (const std::int64_t extent : {d.height, d.width, d.filters1, d.kernel1, d.filters2, d.kernel2,
                                    d.hidden1, d.hidden2, d.classes}) {
    if (extent < 1 || extent > kMostExtent) return false;
  }
  if (d.pad1 < 0 || d.pad1 > kMostExtent || d.pad2 < 0 || d.pad2 > kMostExtent) return false;
  return d.height1() > 0 && d.width1() > 0 && d.height2() > 0 && d.width2() > 0;
}

void check(const FusedCnnDims& dims, std::int64_t rows, const float* parameters,
           Workspace workspace, Device device) {
  static_cast<void>(checked_elements("fused_cnn", {rows, dims.height, dims.width}));
  if (!fused_cnn_supports(dims, device)) {
    throw Error(ErrorKind::usage,
                str("fused_cnn: a network of this shape cannot run on ", to_string(device)));
  }
  if (reinterpret_cast<std::uintptr_t>(parameters) % 16 != 0) {
    throw Error(ErrorKind::usage, "fused_cnn: parameters must be aligned to 16 bytes");
  }
  const std::size_t needed = fused_cnn_workspace_bytes(dims, rows, device);
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage,
                str("fused_cnn: ", needed, " bytes of workspace needed, found ", workspace.bytes));
  }
}

void check_training(const float* velocity, std::int64_t rows, const FusedCnnOptions& options) {
  if (rows > options.order.batch) {
    throw Error(ErrorKind::usage,
                str("fused_cnn: ", rows, " rows asked for, but a batch has ", options.order.batch));
  }
  if (options.sgd.momentum != 0 && velocity == nullptr) {
    throw Error(ErrorKind::usage,
                str("fused_cnn: momentum ", options.sgd.momentum, " needs a velocity, found null"));
  }
}

}  // namespace

bool fused_cnn_supports(const FusedCnnDims& dims, Device device) {
  if (!sensible(dims)) return false;
  if (device.is_cpu()) return true;
  const std::size_t limit = device_properties(device).shared_bytes_per_block;
  bool fits = false;
  fused_cnn::with_network(
      dims, [&](auto net) { fits = sizeof(fused_cnn::Shared<decltype(net), 2>) <= limit; });
  return fits;
}

std::size_t fused_cnn_workspace_bytes(const FusedCnnDims& dims, std::int64_t rows, Device device) {
  if (device.is_cpu()) return select_fused_cnn_cpu().workspace_bytes(dims, rows);
  fused_cnn::Exchange exchange;
  return fused_cnn::exchange_in(exchange, nullptr, dims, rows, device);
}

#ifdef WEFT_WITH_CUDA
namespace {

fused_cnn::Training training_of(float* parameters, float* velocity, MetricTotals* totals,
                                std::int64_t* step, const std::uint8_t* images,
                                const std::uint8_t* labels, const float* lr, std::int64_t rows,
                                const FusedCnnDims& dims, const FusedCnnOptions& options,
                                Workspace workspace, Device device) {
  fused_cnn::Training training{};
  training.parameters = parameters;
  training.velocity = velocity;
  training.totals = totals;
  training.step = step;
  training.lr = lr;
  training.source = {images,
                     labels,
                     options.order,
                     options.augmentation,
                     draw::line_of(options.normalization),
                     options.augmentation.any()};
  training.sgd = options.sgd;
  fused_cnn::exchange_in(training.exchange, workspace.data, dims, rows, device);
  training.rows = rows;
  training.classes = static_cast<int>(dims.classes);
  training.image_blocks = fused_cnn::image_blocks(rows, device);
  return training;
}

}  // namespace
#endif

void fused_cnn_train(float* parameters, float* velocity, MetricTotals* totals, std::int64_t* step,
                     const std::uint8_t* images, const std::uint8_t* labels, const float* lr,
                     std::int64_t rows, std::int64_t steps, const FusedCnnDims& dims,
                     const FusedCnnOptions& options, Workspace workspace, const Stream& stream) {
  const Device device = stream.device();
  check(dims, rows, parameters, workspace, device);
  check_training(velocity, rows, options);
  if (rows == 0 || steps <= 0) return;
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) {
    const fused_cnn::Training training =
        training_of(parameters, velocity, totals, step, images, labels, lr, rows, dims, options,
                    workspace, device);
    if (options.variant == FusedCnnVariant::two_kernels) {
      return cuda::fused_cnn_two_kernels(training, steps, dims, stream);
    }
    return cuda::fused_cnn_persistent(training, steps, dims, stream);
  }
#endif
  select_fused_cnn_cpu().train(parameters, velocity, totals, step, images, labels, lr, rows, steps,
                               dims, options.order, options.augmentation,
                               draw::line_of(options.normalization), options.sgd, workspace.data);
}

void fused_cnn_train_timed(long long* cycles, float* parameters, float* velocity,
                           MetricTotals* totals, std::int64_t* step, const std::uint8_t* images,
                           const std::uint8_t* labels, const float* lr, std::int64_t rows,
                           std::int64_t steps, const FusedCnnDims& dims,
                           const FusedCnnOptions& options, Workspace workspace,
                           const Stream& stream) {
  const Device device = stream.device();
  check(dims, rows, parameters, workspace, device);
  check_training(velocity, rows, options);
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) {
    if (rows == 0 || steps <= 0) return;
    return cuda::fused_cnn_persistent_timed(
        training_of(parameters, velocity, totals, step, images, labels, lr, rows, dims, options,
                    workspace, device),
        steps, dims, cycles, stream);
  }
#endif
  static_cast<void>(cycles), static_cast<void>(totals), static_cast<void>(step);
  static_cast<void>(images), static_cast<void>(labels), static_cast<void>(lr);
  static_cast<void>(steps);
  throw Error(ErrorKind::usage, "fused_cnn: only a GPU counts cycles");
}

void fused_cnn_infer(float* logits, std::int32_t* predictions, MetricTotals* totals,
                     const float* parameters, const std::uint8_t* images,
                     const std::uint8_t* labels, std::int64_t rows, const FusedCnnDims& dims,
                     const Normalization& normalization, Workspace workspace,
                     const Stream& stream) {
  const Device device = stream.device();
  check(dims, rows, parameters, workspace, device);
  if (totals != nullptr && labels == nullptr) {
    throw Error(ErrorKind::usage, "fused_cnn: totals wanted from images without labels");
  }
  if (rows == 0) return;
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) {
    fused_cnn::Inference inference{};
    inference.logits = logits;
    inference.predictions = predictions;
    inference.totals = totals;
    inference.parameters = parameters;
    inference.source = {images, labels, {rows, 1, rows, false, 0}, {}, draw::line_of(normalization),
                        false};
    fused_cnn::exchange_in(inference.exchange, workspace.data, dims, rows, device);
    inference.rows = rows;
    inference.classes = static_cast<int>(dims.classes);
    inference.image_blocks = static_cast<int>(
        std::min<std::int64_t>((rows + 1) / 2, device_properties(device).multiprocessors));
    return cuda::fused_cnn_infer(inference, dims, stream);
  }
#endif
  select_fused_cnn_cpu().infer(logits, predictions, totals, parameters, images, labels, rows, dims,
                               draw::line_of(normalization), workspace.data);
}

namespace {

constexpr std::array kVariants = {
    VariantInfo{"two_kernels",
                "a kernel takes images from bytes to gradients on their SM, another sums gradients "
                "and updates parameters",
                true, true, 0, "a shape that is compiled; LeNet-5: sm_90"},
    VariantInfo{"persistent",
                "all steps in one cooperative launch: the grid meets twice a step, and images are "
                "fetched while parameters are updated",
                true, true, 0, "a shape that is compiled; LeNet-5: sm_90"},
    VariantInfo{"resident_weights",
                "inference: a block keeps all weights on its SM, in shared memory and registers, "
                "and takes image after image",
                true, true, 0, "a shape that is compiled; LeNet-5: sm_90"},
};

// In the order of fused_cnn::Part.
constexpr std::array<std::string_view, fused_cnn::kPartCount> kParts = {
    "staging",         "conv1",          "conv2",        "waiting for fc1",   "fc1",
    "fc2, fc3, loss",  "fc2 backward",   "fc1 backward", "conv2's filters",   "conv2's data",
    "conv1's filters", "images barrier", "parameters",   "parameters barrier"};

}  // namespace

std::span<const VariantInfo> fused_cnn_variants() {
  return kVariants;
}

std::span<const std::string_view> fused_cnn_parts() {
  return kParts;
}

FusedCnnVariant parse_fused_cnn_variant(std::string_view name) {
  if (name == "automatic") return FusedCnnVariant::automatic;
  if (name == "two_kernels") return FusedCnnVariant::two_kernels;
  if (name == "persistent") return FusedCnnVariant::persistent;
  throw Error(ErrorKind::usage, str("fused_cnn: no variant is called ", name));
}

}  // namespace weft::kernels
