// SPDX-License-Identifier: MIT
#include "layers/planes/pad2d.h"

#include <algorithm>
#include <array>

#include "engine/names.h"
#include "layers/window.h"

namespace weft::layers {

namespace {

using kernels::PadMode;

constexpr std::int64_t kMostPad = 1 << 20;

// In texts and in ONNX files; zeros have no word in a text.
struct PadModeName {
  PadMode mode;
  std::string_view word, onnx;
};
constexpr std::array kPadModes = {PadModeName{PadMode::zero, "", "constant"},
                                  PadModeName{PadMode::reflect, "reflect", "reflect"},
                                  PadModeName{PadMode::edge, "edge", "edge"}};

const PadModeName& name_of_mode(PadMode mode) {
  return *std::ranges::find(kPadModes, mode, &PadModeName::mode);
}

bool is_number(const Words& words) {
  return !words.token().text.empty() && words.token().text[0] >= '0' &&
         words.token().text[0] <= '9';
}

std::string words_of(const Pad2d::Options& o) {
  std::string words = "pad " + extents_text(o.top, o.left);
  if (o.bottom != o.top || o.right != o.left) words += " " + extents_text(o.bottom, o.right);
  if (o.mode != PadMode::zero) words += str(" ", name_of_mode(o.mode).word);
  return words;
}

}  // namespace

Pad2d::Pad2d(std::string name, const Options& options) : Layer(std::move(name)), options_(options) {
  for (const std::int64_t pad : {options.top, options.left, options.bottom, options.right}) {
    if (pad >= 0 && pad <= kMostPad) continue;
    throw Error(ErrorKind::usage,
                str(this->name(), ": Pad2d expects pads from 0 to ", kMostPad, ", found ", pad));
  }
}

LayerText Pad2d::read(Words& words) {
  Options o;
  std::tie(o.top, o.left) = words.extents("a padding", 0);
  o.bottom = o.top;
  o.right = o.left;
  if (is_number(words)) std::tie(o.bottom, o.right) = words.extents("a padding behind", 0);
  const auto* said = std::ranges::find(kPadModes, words.token().text, &PadModeName::word);
  if (said != kPadModes.end() && said->mode != PadMode::zero) {
    o.mode = said->mode;
    words.advance();
  }
  return {[=](const LayerSite& site) { return std::make_unique<Pad2d>(site.name, o); }};
}

OnnxWords Pad2d::from_onnx(OnnxReader& node) {
  const std::string mode = node.text("mode", "constant");
  const auto* known =
      std::ranges::find_if(kPadModes, [&](const PadModeName& name) { return mode == name.onnx; });
  if (known == kPadModes.end()) {
    node.fail("expected a mode of constant, reflect or edge, found " + mode);
  }
  const bool is_input = node.has_input(1);  // before opset 11 they were attributes
  std::vector<std::int64_t> pads =
      is_input ? node.few_numbers(1) : node.numbers("pads", std::vector<std::int64_t>(8));
  if (pads.size() != 8) node.fail(str("expected 8 pads, found ", pads.size()));
  for (const std::size_t i : {0u, 1u, 4u, 5u}) {
    if (pads[i] != 0) node.fail("expected pads of rows and columns alone");
  }
  for (const std::int64_t pad : pads) {
    if (pad < 0 || pad > kMostPad) node.fail(str("expected pads from 0 on, found ", pad));
  }
  const float value = node.has_input(2) ? node.few_reals(2).at(0) : node.real("value", 0);
  if (known->mode == PadMode::zero && value != 0) {
    node.fail(str("expected a padding of zeros, found ", value));
  }
  return {.words = words_of({pads[2], pads[3], pads[6], pads[7], known->mode})};
}

std::string Pad2d::describe() const {
  const auto& [top, left, bottom, right, mode] = options_;
  return str("Pad2d(top ", top, ", left ", left, ", bottom ", bottom, ", right ", right,
             mode == PadMode::zero ? "" : ", ", name_of_mode(mode).word, ")");
}

OnnxNode Pad2d::onnx(const Shape&) const {
  const auto& [top, left, bottom, right, mode] = options_;
  return {
      .type = "Pad",
      .attributes = {{"mode", std::string(name_of_mode(mode).onnx)}},
      .inputs = {OnnxInput::data(), OnnxInput::of_numbers({0, 0, top, left, 0, 0, bottom, right})}};
}

kernels::PadDims Pad2d::dims(const Shape& input) const {
  const auto& [top, left, bottom, right, mode] = options_;
  return {input[0] * input[1], input[2], input[3], top, left, bottom, right, mode};
}

Shape Pad2d::do_output_shape(const Shape& input) const {
  const bool is_image = input.rank() == 4;
  const auto fits = [&](std::int64_t extent, std::int64_t before, std::int64_t after) {
    if (options_.mode == PadMode::zero) return true;
    const std::int64_t least = options_.mode == PadMode::edge ? 1 : std::max(before, after) + 1;
    return extent >= least;
  };
  if (!is_image || !fits(input[2], options_.top, options_.bottom) ||
      !fits(input[3], options_.left, options_.right)) {
    reject_input(
        options_.mode == PadMode::zero ? "(N, C, H, W)" : "(N, C, H, W), larger than its padding",
        input);
  }
  const kernels::PadDims d = dims(input);
  return {input[0], input[1], d.oh(), d.ow()};
}

void Pad2d::do_forward(const ForwardCall& call) const {
  kernels::pad_forward(call.y.data, call.x.data, dims(call.x.shape), call.stream);
}

void Pad2d::do_backward(const BackwardCall& call) const {
  if (call.dx.data == nullptr) return;
  kernels::pad_backward(call.dx.data, call.dy.data, dims(call.x.shape), GradientMode::overwrite,
                        call.stream);
}

}  // namespace weft::layers
