// SPDX-License-Identifier: MIT
// The table, validation, the workspace, and the order of the kernels.
#include "kernels/networks/mlp/fused_mlp.h"

#include <utility>

#include "engine/error.h"
#include "kernels/checks.h"
#include "kernels/networks/mlp/cpu/table.h"
#include "kernels/networks/mlp/launchers.h"
#include "kernels/networks/mlp/parts/arguments.h"

namespace weft::kernels {

using namespace fused_mlp;

namespace cuda {

struct FusedMlpRow {
  using Problem = FusedMlpDims;

  Rung rung;
  Launcher<FusedMlpPass> prepare;
  Launcher<FusedMlpTrain> train;
  std::size_t (*workspace_bytes)(const Training&);

  constexpr bool complete() const {
    return prepare.is("fused_mlp_prepare_", rung.name) && train.is("fused_mlp_train_", rung.name);
  }
  std::string takes(const FusedMlpDims& dims, Device device) const;
};

template <class Element>
std::size_t exchange_bytes(const Training& t) {
  return Exchange<Element>(nullptr, t).bytes;
}

constexpr std::string_view kNeeds = "hidden layers of multiples of 64 up to 512";

constexpr FusedMlpRow kFusedMlpRows[] = {
    {.rung = {.name = "four_kernels_bf16",
              .summary = "two layers forward, the loss and the way back, and the update with the "
                         "images of the next step; bf16 in memory",
              .prefer = "in bf16 on Hopper",
              .on_cpu = true,
              .compute_capability = 90,
              .exactly_sm_90a = true,
              .arithmetic = {{}, {}, Arithmetic::bf16},
              .needs = kNeeds},
     .prepare = WEFT_LAUNCHER(FusedMlpPass, fused_mlp_prepare_four_kernels_bf16),
     .train = WEFT_LAUNCHER(FusedMlpTrain, fused_mlp_train_four_kernels_bf16),
     .workspace_bytes = exchange_bytes<Bfloat16>},
    {.rung = {.name = "four_kernels_fp16x3",
              .summary = "the same with the accuracy of fp32: values in two parts of fp16, a scale "
                         "for each tile of 64 x 64",
              .prefer = "in fp32 on Hopper",
              .on_cpu = true,
              .compute_capability = 90,
              .exactly_sm_90a = true,
              .arithmetic = {Arithmetic::fp16x3, Arithmetic::fp16x3, {}},
              .needs = kNeeds},
     .prepare = WEFT_LAUNCHER(FusedMlpPass, fused_mlp_prepare_four_kernels_fp16x3),
     .train = WEFT_LAUNCHER(FusedMlpTrain, fused_mlp_train_four_kernels_fp16x3),
     .workspace_bytes = exchange_bytes<Half>},
};

}  // namespace cuda

namespace {

constexpr Ladder kLadder("fused_mlp", cuda::kFusedMlpRows,
                         [](const FusedMlpDims& dims, Device) -> Choice {
                           if (dims.mode == ComputeMode::bf16) {
                             return {"four_kernels_bf16", "for bf16"};
                           }
                           return {"four_kernels_fp16x3", "as accurate as fp32"};
                         });

const cuda::FusedMlpRow& row_of(const FusedMlpDims& dims, Device device) {
  return kLadder.named(kLadder.choose(dims, device).rung);
}

}  // namespace

Rungs fused_mlp_rungs() {
  return kLadder.rungs();
}

std::int64_t FusedMlpDims::parameters() const {
  return hidden1 * (inputs() + 1) + hidden2 * (hidden1 + 1) + classes * (hidden2 + 1);
}

std::string cuda::FusedMlpRow::takes(const FusedMlpDims& d, Device device) const {
  constexpr std::int64_t kMostExtent = 65536;  // so that products stay far from 2^63
  for (const std::int64_t extent : {d.height, d.width, d.hidden1, d.hidden2, d.classes}) {
    if (extent < 1 || extent > kMostExtent) return "its extents are from 1 to 65536";
  }
  if (device.is_cpu()) return "";
  const auto fits = [](std::int64_t hidden) {
    return hidden % kSide == 0 && hidden <= kMostHidden;
  };
  if (!fits(d.hidden1) || !fits(d.hidden2)) return "hidden layers are multiples of 64 up to 512";
  const bool inputs = d.inputs() % 8 == 0 && d.width % 2 == 0 && d.inputs() <= kMostInputs;
  if (!inputs) return "inputs are a multiple of 8 up to 4096, in rows of even width";
  return d.classes <= kMostClasses ? "" : "there are at most 16 classes";
}

bool fused_mlp_supports(const FusedMlpDims& dims, Device device) {
  return kLadder.refusal(row_of(dims, device), dims, device).empty();
}

namespace {

Training training_of(std::int64_t rows, const FusedMlpDims& d) {
  Training t{};
  t.rows = static_cast<int>(rows);
  t.height = static_cast<int>(d.height);
  t.width = static_cast<int>(d.width);
  t.inputs = static_cast<int>(d.inputs());
  t.hidden1 = static_cast<int>(d.hidden1);
  t.hidden2 = static_cast<int>(d.hidden2);
  t.classes = static_cast<int>(d.classes);
  return t;
}

}  // namespace

std::size_t fused_mlp_workspace_bytes(const FusedMlpDims& dims, std::int64_t rows, Device device) {
  if (device.is_cpu()) return select_fused_mlp_cpu().workspace_bytes(dims, rows);
  return row_of(dims, device).workspace_bytes(training_of(rows, dims));
}

namespace {

void check(std::string_view where, const FusedMlpState& state, std::int64_t rows,
           const FusedMlpDims& dims, const FusedMlpOptions& options, Workspace workspace,
           const Stream& stream) {
  const Device device = stream.device();
  check_mode(where, dims.mode);
  static_cast<void>(checked_elements(where, {rows, dims.height, dims.width}));
  static_cast<void>(kLadder.select(row_of(dims, device).rung.name, dims, device));
  if (rows < 1 || !options.order.holds(rows)) {
    throw Error(ErrorKind::usage, str("fused_mlp: ", rows, " rows from row ", options.order.first,
                                      " asked for, but a batch has ", options.order.batch));
  }
  if (options.augmentation.edits()) {
    throw Error(ErrorKind::usage, "fused_mlp: of the augmentations only the warp is here");
  }
  if (options.sgd.momentum != 0 && state.velocity == nullptr) {
    throw Error(ErrorKind::usage,
                str("fused_mlp: momentum ", options.sgd.momentum, " needs a velocity, found null"));
  }
  for (const auto& [name, value] : {std::pair{"momentum", options.sgd.momentum},
                                    {"weight_decay", options.sgd.weight_decay},
                                    {"mean", options.normalization.mean},
                                    {"standard deviation", options.normalization.stddev}}) {
    check_finite(where, name, value);
  }
  check_smoothing(where, options.label_smoothing);
  const std::size_t needed = fused_mlp_workspace_bytes(dims, rows, device);
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage,
                str("fused_mlp: ", needed, " bytes of workspace needed, found ", workspace.bytes));
  }
  const std::int64_t n = dims.parameters(), count = options.order.count;
  check_call(
      where, stream,
      {writes("parameters", state.parameters, n).aligned_to(16),
       writes("velocity", state.velocity, options.sgd.momentum == 0 ? 0 : n).aligned_to(16),
       writes("totals", state.totals, 1).or_null(), writes("step", state.step, 1),
       reads("images", state.images, checked_elements(where, {count, dims.inputs()})).aligned_to(8),
       reads("labels", state.labels, count), reads("lr", state.lr, 1),
       scratch(workspace, needed, 256)});
}

Training training_of(const FusedMlpState& state, std::int64_t rows, const FusedMlpDims& d,
                     const FusedMlpOptions& options, Workspace workspace) {
  Training t = training_of(rows, d);
  t.state = state;
  t.order = options.order;
  t.augmentation = options.augmentation;
  t.line = draw::line_of(options.normalization);
  t.distort = options.augmentation.warps();
  t.sgd = options.sgd;
  t.label_smoothing = options.label_smoothing;
  t.workspace = static_cast<char*>(workspace.data);
  return t;
}

}  // namespace

void fused_mlp_prepare(const FusedMlpState& state, std::int64_t rows, const FusedMlpDims& dims,
                       const FusedMlpOptions& options, Workspace workspace, const Stream& stream) {
  check("fused_mlp_prepare", state, rows, dims, options, workspace, stream);
  if (stream.device().is_cpu()) return;
  const Training training = training_of(state, rows, dims, options, workspace);
  row_of(dims, stream.device()).prepare.run(training, stream);
}

void fused_mlp_train(const FusedMlpState& state, std::int64_t rows, std::int64_t steps,
                     const FusedMlpDims& dims, const FusedMlpOptions& options, Workspace workspace,
                     const Stream& stream) {
  check("fused_mlp_train", state, rows, dims, options, workspace, stream);
  if (steps <= 0) return;
  if (stream.device().is_cuda()) {
    const Training training = training_of(state, rows, dims, options, workspace);
    return row_of(dims, stream.device()).train.run(training, steps, stream);
  }
  select_fused_mlp_cpu().train(state.parameters, state.velocity, state.totals, state.step,
                               state.images, state.labels, state.lr, rows, steps, dims, options,
                               draw::line_of(options.normalization), workspace.data);
}

}  // namespace weft::kernels
