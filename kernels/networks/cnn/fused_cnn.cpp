// SPDX-License-Identifier: MIT
#include "kernels/networks/cnn/fused_cnn.h"

#include <algorithm>
#include <array>

#include "kernels/all_reduce/launchers.h"
#include "kernels/checks.h"
#include "kernels/networks/cnn/cpu/table.h"
#include "kernels/networks/cnn/launchers.h"
#include "kernels/networks/cnn/parts/plan.h"
#include "kernels/networks/cnn/parts/timed.h"

namespace weft::kernels {

std::int64_t FusedCnnDims::parameters() const {
  return filters1 * (kernel1 * kernel1 + 1) + filters2 * (filters1 * kernel2 * kernel2 + 1) +
         hidden1 * (features() + 1) + hidden2 * (hidden1 + 1) + classes * (hidden2 + 1);
}

namespace cuda {

constexpr std::string_view kOperations[] = {"fused_cnn_train", "fused_cnn_infer"};

struct FusedCnnRow {
  struct Problem {
    FusedCnnDims dims;
    bool training = true;
  };

  Rung rung;
  Launcher<FusedCnnTrain> train = {};
  Launcher<FusedCnnInfer> infer = {};
  bool is_persistent = false;  // trains with peers, too, and counts its cycles

  constexpr bool complete() const {
    return rung.operation == kOperations[train ? 0 : 1] &&
           train.is("fused_cnn_train_", rung.name) != infer.is("fused_cnn_infer_", rung.name);
  }
  std::string takes(const Problem& problem, Device device) const;
};

constexpr std::string_view kNeeds = "a shape that is compiled; LeNet-5: sm_90";

constexpr FusedCnnRow kFusedCnnRows[] = {
    {.rung = {.name = "two_kernels",
              .summary = "a kernel takes images from bytes to gradients on their SM, another sums "
                         "gradients and updates parameters",
              .prefer = "to see what meeting inside a kernel gains",
              .operation = "fused_cnn_train",
              .on_cpu = true,
              .needs = kNeeds},
     .train = WEFT_LAUNCHER(FusedCnnTrain, fused_cnn_train_two_kernels)},
    {.rung = {.name = "persistent",
              .summary = "all steps in one cooperative launch: the grid meets twice a step, and "
                         "images are fetched while parameters are updated",
              .prefer = "for training",
              .operation = "fused_cnn_train",
              .on_cpu = true,
              .needs = kNeeds},
     .train = WEFT_LAUNCHER(FusedCnnTrain, fused_cnn_train_persistent),
     .is_persistent = true},
    {.rung = {.name = "resident_weights",
              .summary = "inference: a block keeps all weights on its SM, in shared memory and "
                         "registers, and takes image after image",
              .prefer = "for inference",
              .operation = "fused_cnn_infer",
              .on_cpu = true,
              .needs = kNeeds},
     .infer = WEFT_LAUNCHER(FusedCnnInfer, fused_cnn_infer_resident_weights)},
};

}  // namespace cuda

namespace {

Choice automatic(const cuda::FusedCnnRow::Problem& problem, Device) {
  if (problem.training) return {"persistent", "one launch for many steps"};
  return {"resident_weights", "the one for inference"};
}

constexpr Ladder kLadder("fused_cnn", cuda::kFusedCnnRows, automatic);

constexpr std::int64_t kMostExtent = 65536;  // of a dim; so that products stay far from 2^63

bool sensible(const FusedCnnDims& d) {
  for (const std::int64_t extent : {d.height, d.width, d.filters1, d.kernel1, d.filters2, d.kernel2,
                                    d.hidden1, d.hidden2, d.classes}) {
    if (extent < 1 || extent > kMostExtent) return false;
  }
  if (d.pad1 < 0 || d.pad1 > kMostExtent || d.pad2 < 0 || d.pad2 > kMostExtent) return false;
  return d.height1() > 0 && d.width1() > 0 && d.height2() > 0 && d.width2() > 0;
}

// What a call asks for: the row that runs it, and its part of the workspace.
struct Checked {
  const cuda::FusedCnnRow& row;
  Argument workspace;
};

Checked check(const cuda::FusedCnnRow::Problem& problem, std::string_view variant,
              std::int64_t rows, Workspace workspace, Device device) {
  const FusedCnnDims& dims = problem.dims;
  static_cast<void>(checked_elements("fused_cnn", {rows, dims.height, dims.width}));
  const cuda::FusedCnnRow& row = kLadder.select(
      variant == kAutomatic ? automatic(problem, device).rung : variant, problem, device);
  const std::size_t needed = fused_cnn_workspace_bytes(dims, rows, device);
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage,
                str("fused_cnn: ", needed, " bytes of workspace needed, found ", workspace.bytes));
  }
  return {row, scratch(workspace, needed)};
}

void check_peers(const cuda::FusedCnnRow& row, std::int64_t rows, const FusedCnnDims& dims,
                 const FusedCnnOptions& options, const Stream& stream) {
  if (options.peers == nullptr) {
    if (options.global_rows == 0) return;
    throw Error(ErrorKind::usage, "fused_cnn: global_rows are those of peers, and there are none");
  }
  const PeerGroup& group = *options.peers;
  const std::int64_t most = std::min(group.capacity, kMostTaggedWords);
  if (stream.device().is_cpu() || !row.is_persistent) {
    throw Error(ErrorKind::usage, "fused_cnn: peers meet in the rung persistent, on GPUs");
  }
  if (group.size < 1 || group.size > kMaxPeers || group.rank < 0 || group.rank >= group.size) {
    throw Error(ErrorKind::usage, str("fused_cnn: a rank of 1 to ", kMaxPeers, " expected, found ",
                                      group.rank, " of ", group.size));
  }
  if (dims.parameters() > most) {
    throw Error(ErrorKind::usage, str("fused_cnn: ", dims.parameters(), " parameters, but words ",
                                      "for ", most, " in the exchange memory"));
  }
  if (options.global_rows < std::max<std::int64_t>(rows, 1)) {
    throw Error(ErrorKind::usage, str("fused_cnn: ", rows, " rows of a rank, but ",
                                      options.global_rows, " of all ranks"));
  }
  check_peer_memory("fused_cnn", group, stream);
}

void check_line(const Normalization& normalization) {
  check_finite("fused_cnn", "mean", normalization.mean);
  check_finite("fused_cnn", "standard deviation", normalization.stddev);
  if (normalization.stddev > 0) return;
  throw Error(ErrorKind::usage,
              str("fused_cnn: standard deviation must be positive, found ", normalization.stddev));
}

// The pointers of training.
void check_pointers(std::string_view where, float* parameters, float* velocity,
                    MetricTotals* totals, std::int64_t* step, const std::uint8_t* images,
                    const std::int32_t* labels, const float* lr, std::int64_t rows,
                    const FusedCnnDims& dims, const FusedCnnOptions& options,
                    const Argument& workspace, const Argument& cycles, const Stream& stream) {
  const std::int64_t n = dims.parameters(), count = rows == 0 ? 0 : options.order.count;
  check_call(
      where, stream,
      {cycles, writes("parameters", parameters, n).aligned_to(16),
       writes("velocity", velocity, options.sgd.momentum == 0 ? 0 : n),
       writes("totals", totals, 1).or_null(), writes("step", step, 1),
       reads("images", images, checked_elements("fused_cnn", {count, dims.height, dims.width})),
       reads("labels", labels, count), reads("lr", lr, 1), workspace});
}

void check_training(const float* velocity, std::int64_t rows, const FusedCnnOptions& options) {
  if (!options.order.holds(rows)) {
    throw Error(ErrorKind::usage, str("fused_cnn: ", rows, " rows from row ", options.order.first,
                                      " asked for, but a batch has ", options.order.batch));
  }
  if (options.augmentation.edits()) {
    throw Error(ErrorKind::usage, "fused_cnn: of the augmentations only the warp is here");
  }
  if (options.sgd.momentum != 0 && velocity == nullptr) {
    throw Error(ErrorKind::usage,
                str("fused_cnn: momentum ", options.sgd.momentum, " needs a velocity, found null"));
  }
  check_finite("fused_cnn", "momentum", options.sgd.momentum);
  check_finite("fused_cnn", "weight_decay", options.sgd.weight_decay);
  check_smoothing("fused_cnn", options.label_smoothing);
  check_line(options.normalization);
}

}  // namespace

std::string cuda::FusedCnnRow::takes(const Problem& problem, Device device) const {
  if (problem.training != static_cast<bool>(train)) {
    return other_operation(rung, kOperations[problem.training ? 0 : 1]);
  }
  if (!sensible(problem.dims)) return "an extent of this shape is too small or too large";
  if (device.is_cpu()) return "";
  const std::size_t limit = device_properties(device).shared_bytes_per_block;
  bool compiled = false, fits = false;
  fused_cnn::with_network(problem.dims, [&](auto net) {
    compiled = true;
    fits = sizeof(fused_cnn::Shared<decltype(net), 2>) <= limit;
  });
  return !compiled ? "there is no kernel of this network's shape"
         : !fits   ? "a network of this shape does not fit in shared memory"
                   : "";
}

bool fused_cnn_supports(const FusedCnnDims& dims, Device device) {
  return kLadder.takes("persistent", {dims}, device);
}

std::optional<FusedCnnOperation> fused_cnn_operation(std::string_view rung) {
  return operation_of<FusedCnnOperation>(fused_cnn_rungs().find(rung), cuda::kOperations);
}

bool fused_cnn_counts_cycles(std::string_view rung) {
  return kLadder.of(rung, &cuda::FusedCnnRow::is_persistent);
}

Rungs fused_cnn_rungs() {
  return kLadder.rungs();
}

std::size_t fused_cnn_workspace_bytes(const FusedCnnDims& dims, std::int64_t rows, Device device) {
  if (device.is_cpu()) return select_fused_cnn_cpu().workspace_bytes(dims, rows);
  fused_cnn::Exchange exchange;
  return fused_cnn::exchange_in(exchange, nullptr, dims, rows, device);
}

namespace {

fused_cnn::Training training_of(float* parameters, float* velocity, MetricTotals* totals,
                                std::int64_t* step, const std::uint8_t* images,
                                const std::int32_t* labels, const float* lr, std::int64_t rows,
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
                     options.augmentation.warps()};
  training.sgd = options.sgd;
  fused_cnn::exchange_in(training.exchange, workspace.data, dims, rows, device);
  training.rows = rows;
  training.classes = static_cast<int>(dims.classes);
  training.image_blocks = fused_cnn::image_blocks(rows, device);
  const std::int64_t all_rows = options.peers != nullptr ? options.global_rows : rows;
  training.gradient_scale = 1.0f / static_cast<float>(all_rows);
  training.label_smoothing = options.label_smoothing;
  return training;
}

}  // namespace

void fused_cnn_train(float* parameters, float* velocity, MetricTotals* totals, std::int64_t* step,
                     const std::uint8_t* images, const std::int32_t* labels, const float* lr,
                     std::int64_t rows, std::int64_t steps, const FusedCnnDims& dims,
                     const FusedCnnOptions& options, Workspace workspace, const Stream& stream) {
  const Device device = stream.device();
  const auto& [row, scratch] = check({dims}, options.variant, rows, workspace, device);
  check_training(velocity, rows, options);
  check_peers(row, rows, dims, options, stream);
  if (steps <= 0) return;
  check_pointers("fused_cnn_train", parameters, velocity, totals, step, images, labels, lr, rows,
                 dims, options, scratch, writes("cycles", static_cast<long long*>(nullptr), 0),
                 stream);
  if (options.peers != nullptr) {
    return WEFT_CUDA(cuda::fused_cnn_persistent_with_peers)(
        training_of(parameters, velocity, totals, step, images, labels, lr, rows, dims, options,
                    workspace, device),
        *options.peers, steps, dims, stream);
  }
  if (rows == 0) return;
  if (device.is_cuda()) {
    return row.train.run(training_of(parameters, velocity, totals, step, images, labels, lr, rows,
                                     dims, options, workspace, device),
                         steps, dims, stream);
  }
  select_fused_cnn_cpu().train(parameters, velocity, totals, step, images, labels, lr, rows, steps,
                               dims, options.order, options.augmentation,
                               draw::line_of(options.normalization), options.sgd,
                               options.label_smoothing, workspace.data);
}

void fused_cnn_train_timed(long long* cycles, float* parameters, float* velocity,
                           MetricTotals* totals, std::int64_t* step, const std::uint8_t* images,
                           const std::int32_t* labels, const float* lr, std::int64_t rows,
                           std::int64_t steps, const FusedCnnDims& dims,
                           const FusedCnnOptions& options, Workspace workspace,
                           const Stream& stream) {
  const Device device = stream.device();
  const Argument scratch = check({dims}, "persistent", rows, workspace, device).workspace;
  check_training(velocity, rows, options);
  check_pointers("fused_cnn_train_timed", parameters, velocity, totals, step, images, labels, lr,
                 rows, dims, options, scratch,
                 writes("cycles", cycles, std::ssize(fused_cnn_parts())), stream);
  if (options.peers != nullptr) {
    throw Error(ErrorKind::usage, "fused_cnn: cycles are counted without peers");
  }
  if (device.is_cuda()) {
    if (rows == 0 || steps <= 0) return;
    return WEFT_CUDA(cuda::fused_cnn_persistent_timed)(
        training_of(parameters, velocity, totals, step, images, labels, lr, rows, dims, options,
                    workspace, device),
        steps, dims, cycles, stream);
  }
  throw Error(ErrorKind::usage, "fused_cnn: only a GPU counts cycles");
}

void fused_cnn_infer(float* logits, std::int32_t* predictions, MetricTotals* totals,
                     const float* parameters, const std::uint8_t* images,
                     const std::int32_t* labels, std::int64_t rows, const FusedCnnDims& dims,
                     const Normalization& normalization, Workspace workspace,
                     const Stream& stream) {
  const Device device = stream.device();
  const auto& [row, scratch] = check({dims, false}, kAutomatic, rows, workspace, device);
  check_line(normalization);
  if (totals != nullptr && labels == nullptr) {
    throw Error(ErrorKind::usage, "fused_cnn: totals wanted from images without labels");
  }
  if (rows == 0) return;
  check_call(
      "fused_cnn_infer", stream,
      {writes("logits", logits, checked_elements("fused_cnn", {rows, dims.classes})).or_null(),
       writes("predictions", predictions, rows).or_null(), writes("totals", totals, 1).or_null(),
       reads("parameters", parameters, dims.parameters()).aligned_to(16),
       reads("images", images, rows * dims.height * dims.width),
       reads("labels", labels, rows).or_null(), scratch});
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
    return row.infer.run(inference, dims, stream);
  }
  select_fused_cnn_cpu().infer(logits, predictions, totals, parameters, images, labels, rows, dims,
                               draw::line_of(normalization), workspace.data);
}

namespace {

// In the order of fused_cnn::Part.
constexpr std::array<std::string_view, fused_cnn::kPartCount> kParts = {
    "staging",         "conv1",          "conv2",        "waiting for fc1",   "fc1",
    "fc2, fc3, loss",  "fc2 backward",   "fc1 backward", "conv2's filters",   "conv2's data",
    "conv1's filters", "images barrier", "parameters",   "parameters barrier"};

}  // namespace

std::span<const std::string_view> fused_cnn_parts() {
  return kParts;
}

}  // namespace weft::kernels
