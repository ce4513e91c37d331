// SPDX-License-Identifier: MIT
#include "models/onnx/input.h"

#include <algorithm>
#include <cmath>

#include "models/onnx/node_reader.h"
#include "models/onnx/operators.h"

namespace weft::models {

namespace {

using Image = std::array<std::int64_t, 3>;  // channels, height, width
using Extents = std::vector<std::int64_t>;  // of one image; 0: not known

// How the values of an image lie behind the extent of the batch.
enum class Layout {
  planes,  // (channels, height, width)
  pixels,  // (height, width, channels)
  plane,   // (height, width)
  row,     // (values,)
};

Extents extents_in(const Image& image, Layout layout) {
  const auto [channels, height, width] = image;
  switch (layout) {
    case Layout::planes:
      return {channels, height, width};
    case Layout::pixels:
      return {height, width, channels};
    case Layout::plane:
      return {height, width};
    case Layout::row:
      break;
  }
  return {channels * height * width};
}

bool fits(const Extents& known, const Extents& wanted) {
  return std::ranges::equal(known, wanted,
                            [](auto found, auto want) { return found <= 0 || found == want; });
}

bool is_known(const Extents& extents) {
  return std::ranges::all_of(extents, [](auto extent) { return extent > 0; });
}

// Has an image of these extents so many values? True where there are no extents.
bool holds(const Extents& extents, std::int64_t values) {
  for (const std::int64_t extent : extents) {
    if (values % extent != 0) return false;
    values /= extent;
  }
  return extents.empty() || values == 1;
}

std::string to_text(const Extents& extents) {
  std::string text;
  for (const std::int64_t extent : extents) {
    text += str(text.empty() ? "" : ", ", extent > 0 ? str(extent) : "?");
  }
  return "(" + text + ")";
}

// The extents behind the batch's that a Reshape asks for; empty when they depend on its input.
Extents reshaped_to(const onnx::NodeProto& node, const OnnxGraph& graph) {
  NodeReader reader(node, graph);
  if (!reader.is_tensor(1)) return {};
  Extents shape = reader.few_numbers(1);
  const bool one_image_each =
      !shape.empty() && (shape[0] == -1 || (shape[0] > 0 && shape[0] == graph.batch()) ||
                         (shape[0] == 0 && reader.number("allowzero", 0) == 0));
  if (!one_image_each) return {};
  shape.erase(shape.begin());
  return is_known(shape) ? shape : Extents{};
}

class InputReader {
 public:
  InputReader(const OnnxGraph& graph, const std::optional<Image>& wanted, bool keeps_batch_norm)
      : graph_(graph), keeps_batch_norm_(keeps_batch_norm) {
    for (int at = graph.output(); at != 0; at = step(at).dominator) way_.push_back(at);
    std::ranges::reverse(way_);
    find_image(wanted);
  }

  OnnxInput read() {
    for (const int at : way_) {
      if (step(at).joins() || !take(*step(at).node)) {
        check_layout(*step(at).node);
        break;
      }
      found_.first = at;
    }
    for (std::size_t c = 0; c < found_.scale.factor.size(); ++c) {
      const double factor = found_.scale.factor[c];
      if (factor > 0 && std::isfinite(factor) && std::isfinite(found_.scale.offset[c])) continue;
      refuse_node(*last_scale_, graph_.where(),
                  str("the input is scaled by ", factor, "; Weft scales by a number above 0"));
    }
    const int type = graph_.input().type().tensor_type().elem_type();
    if (type == onnx::TensorProto::UINT8 && !found_.pixels) {
      throw Error(ErrorKind::data, str(graph_.where(), ": expected a Cast of the input ",
                                       in_quotes(graph_.input().name()), ", which is of UINT8"));
    }
    if (!found_.pixels) tell_pixels();
    return found_;
  }

 private:
  const OnnxStep& step(int index) const { return graph_.steps()[static_cast<std::size_t>(index)]; }
  std::size_t channels() const { return static_cast<std::size_t>(found_.image[0]); }

  // ---- The image.

  // The first operator that depends on the order of the values; null when there is none.
  const onnx::NodeProto* first_of_layout() const {
    for (const int at : way_) {
      if (step(at).joins()) return nullptr;
      const std::string& type = step(at).node->op_type();
      const bool is_scale = type == "Cast" || type == "Sub" || type == "Div" || type == "Mul" ||
                            type == "Add" || type == "BatchNormalization";
      if (!is_scale) return step(at).node;
    }
    return nullptr;
  }

  void find_image(const std::optional<Image>& wanted) {
    Extents extents;
    const auto& shape = graph_.input().type().tensor_type().shape();
    for (int i = 1; i < shape.dim_size(); ++i) extents.push_back(shape.dim(i).dim_value());
    if (extents.size() == 3 && find_planes(extents, wanted)) return;
    const onnx::NodeProto* first = first_of_layout();
    const Extents target =
        first != nullptr && first->op_type() == "Reshape" ? reshaped_to(*first, graph_) : Extents{};
    if (wanted) {
      found_.image = *wanted;
      const Extents plane = extents_in(*wanted, Layout::plane);
      layout_ = extents.size() == 2 && (*wanted)[0] == 1 && fits(extents, plane) ? Layout::plane
                                                                                 : Layout::row;
      const auto [c, h, w] = *wanted;
      if (extents.size() != 3 && (!is_known(extents) || holds(extents, c * h * w))) return;
      throw Error(ErrorKind::usage,
                  str(graph_.where(), ": --input ", c, "x", h, "x", w,
                      " is not the input of the file, ", to_text(extents), " for each image"));
    }
    if (extents.size() == 2 && std::ranges::all_of(extents, [](auto e) { return e > 1; })) {
      found_.image = {1, extents[0], extents[1]};
      layout_ = Layout::plane;
    } else if (extents.size() < 2 && target.size() == 3 && is_known(extents)) {
      const Layout layout = are_pixels(target) ? Layout::pixels : Layout::planes;
      found_.image = image_of(target, layout);
      layout_ = Layout::row;
    } else {
      throw Error(ErrorKind::usage,
                  str(graph_.where(), ": its input is ", to_text(extents),
                      " for each image; say with --input CxHxW what image that is"));
    }
  }

  static Image image_of(const Extents& e, Layout layout) {
    if (layout == Layout::pixels) return {e[2], e[0], e[1]};
    return {e[0], e[1], e[2]};
  }

  // Pictures have 1 or 3 channels.
  static bool are_pixels(const Extents& e) {
    const auto may_be_channels = [](std::int64_t extent) { return extent == 1 || extent == 3; };
    return may_be_channels(e[2]) && !may_be_channels(e[0]);
  }

  // Reads an input with three extents. False when it is neither the image that is wanted nor known.
  bool find_planes(const Extents& extents, const std::optional<Image>& wanted) {
    const onnx::NodeProto* first = first_of_layout();
    bool says_pixels = false, leaves_open = first == nullptr;
    if (first != nullptr && first->op_type() == "Transpose") {
      NodeReader reader(*first, graph_);
      says_pixels = reader.numbers("perm", {3, 2, 1, 0}) == Extents{0, 3, 1, 2};
    } else if (first != nullptr && first->op_type() == "Reshape") {
      const Extents target = reshaped_to(*first, graph_);
      says_pixels = target.size() == 3 && target != extents && target[0] == 1 && extents[2] == 1;
      leaves_open = target.size() < 2;
    } else if (first != nullptr && first->op_type() == "Flatten") {
      leaves_open = true;
    }
    const bool is_guess = leaves_open && !wanted && is_known(extents) && are_pixels(extents);
    layout_ = says_pixels || is_guess ? Layout::pixels : Layout::planes;
    if (!wanted) {
      if (!is_known(extents)) return false;
      found_.image = image_of(extents, layout_);
      if (is_guess && extents[2] != 1) {
        found_.notice = str("its input ", to_text(extents), " is taken as ", extents[0], " x ",
                            extents[1], " pixels with their ", extents[2],
                            " channels last; --input CxHxW says another image");
      }
      return true;
    }
    found_.image = *wanted;
    if (leaves_open && !fits(extents, extents_in(*wanted, Layout::planes))) {
      layout_ = Layout::pixels;
    }
    return fits(extents, extents_in(*wanted, layout_));
  }

  // ---- What the file does to it.

  // False for the first layer.
  bool take(const onnx::NodeProto& node) {
    if (!is_operator_known(node)) return false;
    const std::string& type = node.op_type();
    if (type == "Transpose") return take_transpose(node);
    if (type == "Reshape") return take_reshape(node);
    if (type == "Cast") return take_cast(node);
    if (type == "BatchNormalization") return take_batch_norm(node);
    if (type == "Sub" || type == "Div" || type == "Mul" || type == "Add") return take_scale(node);
    return false;
  }

  bool take_transpose(const onnx::NodeProto& node) {
    NodeReader reader(node, graph_);
    const Extents perm = reader.numbers("perm", {3, 2, 1, 0});
    reader.finish();
    if (layout_ == Layout::pixels && perm == Extents{0, 3, 1, 2}) {
      layout_ = Layout::planes;
    } else if (layout_ == Layout::planes && perm == Extents{0, 2, 3, 1}) {
      layout_ = Layout::pixels;
    } else {
      reader.fail(str("expected it to move the channels of ",
                      to_text(extents_in(found_.image, layout_)), " to the front or to the back"));
    }
    return true;
  }

  bool take_reshape(const onnx::NodeProto& node) {
    const Extents target = reshaped_to(node, graph_);
    if (target.size() < 2) return false;
    const bool keeps_order = layout_ == Layout::row || layout_ == Layout::plane || channels() == 1;
    for (const Layout layout : {Layout::planes, Layout::pixels, Layout::plane}) {
      if (layout == Layout::plane && channels() != 1) continue;
      if (target != extents_in(found_.image, layout)) continue;
      if (layout != layout_ && !keeps_order) continue;
      layout_ = layout;
      return true;
    }
    refuse_node(node, graph_.where(),
                str("makes ", to_text(target), " of each image of ",
                    to_text({found_.image[0], found_.image[1], found_.image[2]}),
                    "; --input CxHxW says what image the input is"));
  }

  bool take_cast(const onnx::NodeProto& node) {
    NodeReader reader(node, graph_);
    if (reader.number("to", 0) != onnx::TensorProto::FLOAT) reader.fail("expected it to FLOAT");
    const bool is_bytes =
        graph_.input().type().tensor_type().elem_type() == onnx::TensorProto::UINT8;
    if (is_bytes) found_.pixels = parse_range("0..255");
    return true;
  }

  // The numbers of a tensor that lies along the channels, or one for all.
  std::vector<double> of_channels(const NodeReader& reader, int index) const {
    const onnx::TensorProto& tensor = reader.tensor(index, onnx::TensorProto::FLOAT);
    const Extents extents(tensor.dims().begin(), tensor.dims().end());
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;  // as many as bytes in the file
    const int behind = layout_ == Layout::planes ? 2 : 0;       // extents behind the channels'
    const int axis = tensor.dims_size() - 1 - behind;
    const bool is_channels = (layout_ == Layout::planes || layout_ == Layout::pixels) &&
                             count == found_.image[0] && axis >= 0 && tensor.dims(axis) == count;
    if (count != 1 && !is_channels) {
      reader.fail(str("expected a number for each channel of ",
                      to_text(extents_in(found_.image, layout_)), " or one for all, found ",
                      to_text(extents), ": Weft normalises by channel"));
    }
    const std::vector<float> values = floats_of(tensor);
    return {values.begin(), values.end()};
  }

  // y = x * factor + offset behind what there is.
  void apply(const std::vector<double>& factor, const std::vector<double>& offset) {
    const std::size_t count = std::max(
        {found_.scale.factor.size(), found_.scale.offset.size(), factor.size(), offset.size()});
    const auto value = [](const std::vector<double>& values, std::size_t c) {
      return values.size() == 1 ? values[0] : values[c];
    };
    InputScale scale{std::vector<double>(count), std::vector<double>(count)};
    for (std::size_t c = 0; c < count; ++c) {
      scale.factor[c] = value(found_.scale.factor, c) * value(factor, c);
      scale.offset[c] = value(found_.scale.offset, c) * value(factor, c) + value(offset, c);
    }
    found_.scale = scale;
  }

  bool take_scale(const onnx::NodeProto& node) {
    NodeReader reader(node, graph_);
    const bool first = reader.is_tensor(0);
    if (!first && !reader.is_tensor(1)) return false;
    const std::string& type = node.op_type();
    std::vector<double> values = of_channels(reader, first ? 0 : 1);
    reader.finish();
    last_scale_ = &node;
    if (type == "Div" && first) reader.fail("divides by the input");
    if (type == "Div") {
      for (double& value : values) value = 1 / value;
    }
    if (type == "Mul" || type == "Div") {
      apply(values, {0});
    } else if (type == "Sub" && first) {
      apply({-1}, values);
    } else {
      if (type == "Sub") {
        for (double& value : values) value = -value;
      }
      apply({1}, values);
    }
    return true;
  }

  bool take_batch_norm(const onnx::NodeProto& node) {
    if (layout_ != Layout::planes || keeps_batch_norm_) return false;
    const OnnxLayer layer = onnx_layer(node, graph_);
    std::vector<std::vector<double>> tensors;
    for (const OnnxTensor& tensor : layer.tensors) {
      if (tensor.tensor->dims(0) != found_.image[0]) return false;  // the layer says what is wrong
      const std::vector<float> values = floats_of(*tensor.tensor);
      tensors.emplace_back(values.begin(), values.end());
    }
    std::vector<double> factor(channels()), offset(channels()), stddev(channels());
    for (std::size_t c = 0; c < channels(); ++c) {
      stddev[c] = std::sqrt(tensors[3][c] + layer.tensors[0].epsilon);
      factor[c] = tensors[0][c] / stddev[c];
      offset[c] = tensors[1][c] - tensors[2][c] * factor[c];
      if (!(factor[c] > 0) || !std::isfinite(factor[c]) || !std::isfinite(offset[c])) return false;
    }
    if (last_scale_ == nullptr) measured_ = PixelScale{tensors[2], stddev};
    last_scale_ = &node;
    apply(factor, offset);
    return true;
  }

  void check_layout(const onnx::NodeProto& node) {
    const bool makes_row = node.op_type() == "Flatten" || node.op_type() == "Reshape";
    if (layout_ != Layout::pixels) return;
    if (!makes_row) {
      refuse_node(node, graph_.where(),
                  str("reads images of ", to_text(extents_in(found_.image, layout_)),
                      ", channels last; Weft has layers that read them first"));
    }
    found_.is_row_of_pixels = channels() != 1;
  }

  // A file that centres or scales its input takes what that makes small numbers of.
  void tell_pixels() {
    if (last_scale_ == nullptr) return;
    PixelScale file = measured_.value_or(PixelScale{{}, {}});
    for (std::size_t c = 0; !measured_ && c < found_.scale.factor.size(); ++c) {
      file.mean.push_back(-found_.scale.offset[c] / found_.scale.factor[c]);
      file.stddev.push_back(1 / found_.scale.factor[c]);
    }
    const double low = std::ranges::min(file.mean);
    const double mean = std::ranges::max(file.mean), stddev = std::ranges::max(file.stddev);
    // No values from 0 to 1 have a standard deviation above 0.5; a factor may be a range's.
    constexpr double kRounding = 1e-4, kLeastOfBytes = 16, kMostOfBytes = 256;
    const double most = (measured_ ? 0.5 : 1) + kRounding;
    const bool says_nothing = !measured_ && mean == 0 && low == 0 && stddev == 1;
    if (says_nothing || low < -kRounding) return;
    if (mean <= 1 + kRounding && stddev <= most) found_.pixels = parse_range("0..1");
    const double largest = std::max(mean, stddev);
    if (largest >= kLeastOfBytes && largest <= kMostOfBytes) found_.pixels = parse_range("0..255");
  }

  const OnnxGraph& graph_;
  bool keeps_batch_norm_;
  std::vector<int> way_;  // the steps that every way to the output leads through
  Layout layout_ = Layout::planes;
  OnnxInput found_;
  const onnx::NodeProto* last_scale_ = nullptr;
  std::optional<PixelScale> measured_;  // the input's own, as a batch normalisation found it
};

}  // namespace

OnnxInput onnx_input(const OnnxGraph& graph,
                     const std::optional<std::array<std::int64_t, 3>>& wanted,
                     bool keeps_batch_norm) {
  return InputReader(graph, wanted, keeps_batch_norm).read();
}

}  // namespace weft::models
