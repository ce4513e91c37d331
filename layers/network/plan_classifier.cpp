// SPDX-License-Identifier: MIT
// A training step of a classifier, from the input of a plan to the gradients.
#include "kernels/softmax/classifier.h"
#include "kernels/softmax/softmax.h"
#include "layers/linear.h"
#include "layers/losses/loss_check.h"
#include "layers/network/sequential.h"

namespace weft::layers {

namespace {

void check(const ClassifierLoss& loss, const ConstFloatView& logits, Device device) {
  constexpr std::string_view kWhat = "classifier";
  if (logits.shape.rank() != 2) {
    throw Error(ErrorKind::usage, str(kWhat, " expects logits (N, classes), found ", logits.shape));
  }
  const Shape rows{logits.shape[0]};
  check_operand(kWhat, "labels", loss.labels, rows, device);
  if (loss.loss.data != nullptr) check_operand(kWhat, "loss", loss.loss, rows, device);
  if (loss.prediction.data != nullptr) {
    check_operand(kWhat, "prediction", loss.prediction, rows, device);
  }
}

}  // namespace

// Is the last call a Linear that the kernel for classifiers takes, with nothing behind it? A
// variant of GEMM that was asked for is what runs.
bool Plan::ends_in_classifier() const {
  if (steps_.empty()) return false;
  const Step& step = steps_.back();
  const KernelChoice& kernels = step.context.kernels;
  const auto* linear = dynamic_cast<const Linear*>(step.layer);
  if (linear == nullptr || !kernels.fuse || kernels.gemm != kernels::kAutomatic) {
    return false;
  }
  const auto weights = reinterpret_cast<std::uintptr_t>(step.context.parameters[0].data);
  return step.epilogue == Epilogue::none && step.y.shape == output_.shape && weights % 16 == 0 &&
         kernels::classifier_fits({batch_, linear->in(), linear->out()}, step.x.device);
}

void Plan::train_classifier(const ClassifierLoss& loss, GradientMode mode, const Stream& stream) {
  check_training("train_classifier()");
  check_weights();
  check(loss, output_, stream.device());
  const auto beside = [&]() -> const Stream& {
    return branch_ != nullptr ? branch_->fork() : stream;
  };
  const auto add_totals = [&](const Stream& queue) {
    if (loss.totals == nullptr) return;
    const bool predicts = loss.prediction.data != nullptr;
    kernels::accumulate_totals(loss.totals, loss.loss.data, loss.prediction.data,
                               predicts ? loss.labels.data : nullptr, batch_, queue);
  };
  if (!ends_in_classifier()) {
    forward(stream);
    kernels::softmax_cross_entropy(loss.loss.data, output_gradient_.data, loss.prediction.data,
                                   output_.data, loss.labels.data, loss.scale, loss.smoothing,
                                   batch_, output_.shape[1], kernels::kAutomatic, stream);
    add_totals(beside());
    return backward(mode, stream);
  }

  const std::size_t last = steps_.size() - 1;
  const Step& step = steps_[last];
  const auto& linear = dynamic_cast<const Linear&>(*step.layer);
  forward(last, stream);
  kernels::classifier_forward_backward(
      {.logits = step.y.data,
       .dlogits = step.dy.data,
       .loss = loss.loss.data,
       .prediction = loss.prediction.data,
       .dx = last > first_trained_ ? step.dx.data : nullptr},
      step.x.data, step.context.parameters[0].data,
      linear.has_bias() ? step.context.parameters[1].data : nullptr, loss.labels.data,
      {batch_, linear.in(), linear.out()},
      {.scale = loss.scale, .smoothing = loss.smoothing, .mask = step.context.mask_input_gradient},
      stream);
  const Stream& queue = beside();
  if (!step.context.frozen) {
    linear.backward({}, step.dy, step.x, step.y, mode, step.context, queue);
  }
  add_totals(queue);
  backward(last, mode, stream, false);
}

}  // namespace weft::layers
