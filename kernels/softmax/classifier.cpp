// SPDX-License-Identifier: MIT
#include "kernels/softmax/classifier.h"

#include "engine/device.h"
#include "kernels/checks.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/softmax/parts/classifier_cuda.h"
#endif

namespace weft::kernels {

bool classifier_fits(const ClassifierDims& dims, Device device) {
#ifdef WEFT_WITH_CUDA
  return device.is_cuda() && dims.in % 4 == 0 && dims.in <= cuda::kClassifierInputs &&
         dims.classes <= cuda::kClassifierClasses &&
         dims.in * dims.classes <= cuda::kClassifierWeights;
#else
  static_cast<void>(dims), static_cast<void>(device);
  return false;
#endif
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
  if (!(options.smoothing >= 0 && options.smoothing < 1)) {
    refuse(": expects 0 <= smoothing < 1, found ", options.smoothing);
  }
  if (!classifier_fits(dims, stream.device())) {
    refuse(" has no kernel of its own on ", stream.device());
  }
  const auto addresses = reinterpret_cast<std::uintptr_t>(x) | reinterpret_cast<std::uintptr_t>(w) |
                         reinterpret_cast<std::uintptr_t>(outputs.dx);
  if (addresses % 16 != 0) refuse(": x, w and dx must start on 16-byte boundaries");
  if (dims.rows == 0) return;
#ifdef WEFT_WITH_CUDA
  cuda::classifier_forward_backward(outputs, x, w, bias, labels, dims, options, stream);
#else
  static_cast<void>(bias), static_cast<void>(labels);
#endif
}

}  // namespace weft::kernels
