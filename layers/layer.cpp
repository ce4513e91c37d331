// SPDX-License-Identifier: MIT
#include "layers/layer.h"

#include "engine/error.h"

namespace weft::layers {

std::size_t Layer::cache_bytes(const Shape&) const {
  return 0;
}

std::size_t Layer::workspace_bytes(const Shape&, const KernelChoice&, Device, Phase) const {
  return 0;
}

double Layer::forward_flops(const Shape& input) const {
  return static_cast<double>(output_shape(input).elements());
}

Shape Layer::output_shape(const Shape& input) const {
  if (input.rank() == 0) reject_input("with a batch axis", input);
  return do_output_shape(input);
}

void Layer::reject_input(std::string_view expected, const Shape& found) const {
  throw Error(ErrorKind::usage,
              str(name_, ": ", describe(), " expects input ", expected, ", found ", found));
}

void Layer::check_view(std::string_view role, const ConstFloatView& view, const Shape& expected,
                       Device device) const {
  if (view.shape != expected) {
    throw Error(ErrorKind::usage, str(name_, ": ", describe(), " expects ", role, " ", expected,
                                      ", found ", view.shape));
  }
  if (view.device != device) {
    throw Error(ErrorKind::usage, str(name_, ": ", role, " ", view.shape, " is on ", view.device,
                                      ", the stream on ", device));
  }
  if (view.data == nullptr && expected.elements() > 0) {
    throw Error(ErrorKind::usage, str(name_, ": ", role, " ", expected, " is a null pointer"));
  }
}

void Layer::check_context(const LayerContext& context, const Shape& input, Device device) const {
  if (context.parameters.size() != parameters_.size() ||
      context.buffers.size() != buffers_.size()) {
    throw Error(ErrorKind::usage, str(name_, ": ", describe(), " expects ", parameters_.size(),
                                      " parameters and ", buffers_.size(), " buffers, found ",
                                      context.parameters.size(), " and ", context.buffers.size()));
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    check_view(parameters_[i].name, context.parameters[i], parameters_[i].shape, device);
  }
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    check_view(buffers_[i].name, context.buffers[i], buffers_[i].shape, device);
  }
  const std::size_t needed = workspace_bytes(input, context.kernels, device, context.phase);
  if (context.workspace.bytes < needed) {
    throw Error(ErrorKind::usage, str(name_, ": expects a workspace of ", needed, " bytes, found ",
                                      context.workspace.bytes));
  }
  if (context.phase == Phase::training && context.cache == nullptr && cache_bytes(input) > 0) {
    throw Error(ErrorKind::usage,
                str(name_, ": training expects a cache of ", cache_bytes(input), " bytes"));
  }
}

OnnxNode Layer::onnx(const Shape&) const {
  throw Error(ErrorKind::usage, str(name_, ": no ONNX operator computes ", describe()));
}

void Layer::forward(FloatView y, ConstFloatView x, Epilogue epilogue, const LayerContext& context,
                    const Stream& stream) const {
  check_view("input", x, x.shape, stream.device());
  check_view("output", y, output_shape(x.shape), stream.device());
  check_context(context, x.shape, stream.device());
  if (epilogue != Epilogue::none && !traits().fuses_relu) {
    throw Error(ErrorKind::usage, str(name_, ": ", describe(), " cannot fuse an epilogue"));
  }
  if (y.data == x.data && y.data != nullptr && !traits().in_place) {
    throw Error(ErrorKind::usage, str(name_, ": ", describe(), " cannot run in place"));
  }
  do_forward({y, x, epilogue, context, stream});
}

void Layer::backward(FloatView dx, ConstFloatView dy, ConstFloatView x, ConstFloatView y,
                     GradientMode parameter_mode, const LayerContext& context,
                     const Stream& stream) const {
  const Shape output = output_shape(x.shape);
  const Device device = stream.device();
  if (context.phase != Phase::training) {
    throw Error(ErrorKind::usage, str(name_, ": backward in an inference context"));
  }
  if (context.mask_input_gradient && !traits().masks_input_gradient) {
    throw Error(ErrorKind::usage, str(name(), ": ", describe(), " cannot mask its input gradient"));
  }
  check_view("input", x, x.shape, device);
  check_view("output", y, output, device);
  check_view("output gradient", dy, output, device);
  check_context(context, x.shape, device);
  if (dx.data != nullptr) {
    check_view("input gradient", dx, x.shape, device);
    if (dx.data == dy.data && !traits().in_place) {
      throw Error(ErrorKind::usage, str(name_, ": ", describe(), " cannot run in place"));
    }
  }
  if (context.gradients.size() != parameters_.size()) {
    throw Error(ErrorKind::usage, str(name_, ": ", describe(), " expects ", parameters_.size(),
                                      " parameter gradients, found ", context.gradients.size()));
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    check_view(parameters_[i].name, context.gradients[i], parameters_[i].shape, device);
  }
  do_backward({dx, dy, x, y, parameter_mode, context, stream});
}

}  // namespace weft::layers
