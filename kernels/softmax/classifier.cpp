// SPDX-License-Identifier: MIT
#include "kernels/softmax/classifier.h"

#include "engine/device.h"
#include "kernels/checks.h"
#include "kernels/ladder.h"
#include "kernels/softmax/parts/classifier_cuda.h"

namespace weft::kernels {

bool classifier_fits(const ClassifierDims& dims, Device device) {
  return device.is_cuda() && dims.in % 4 == 0 && dims.in <= cuda::kClassifierInputs &&
         dims.classes <= cuda::kClassifierClasses &&
         dims.in * dims.classes <= cuda::kClassifierWeights;
}

void classifier_forward_backward(const ClassifierOutputs& outputs, const float* x, const float* w,
                                 const float* bias, const std::int32_t* labels,
                                 const ClassifierDims& dims, const ClassifierOptions& options,
                                 const Stream& stream) {
  const auto refuse = [&](const auto&... why) {
    throw Error(ErrorKind::usage, str("classifier (rows, in, classes) = (", dims.rows, ", ",
                                      dims.in, ", ", dims.classes, ")", why...));
  };
  checked_elements("classifier", {dims.rows, dims.in});
  checked_elements("classifier", {dims.rows, dims.classes});
  if (dims.rows > 0 && dims.classes == 0) refuse(" has rows without classes");
  if (!classifier_fits(dims, stream.device())) {
    refuse(" has no kernel of its own on ", stream.device());
  }
  check_smoothing("classifier", options.smoothing);
  check_finite("classifier", "scale", options.scale);
  if (dims.rows == 0) return;
  const std::int64_t rows = dims.rows, n = rows * dims.in, logits = rows * dims.classes;
  check_call("classifier_forward_backward", stream,
             {writes("logits", outputs.logits, logits), writes("dlogits", outputs.dlogits, logits),
              writes("loss", outputs.loss, rows).or_null(),
              writes("prediction", outputs.prediction, rows).or_null(),
              writes("dx", outputs.dx, n).aligned_to(16).or_null(), reads("x", x, n).aligned_to(16),
              reads("w", w, dims.classes * dims.in).aligned_to(16),
              reads("bias", bias, dims.classes).or_null(), reads("labels", labels, rows)});
  const auto run = WEFT_CUDA(cuda::classifier_forward_backward);
  run(outputs, x, w, bias, labels, dims, options, stream);
}

}  // namespace weft::kernels
