// SPDX-License-Identifier: MIT
#include "examples/weft/serve/reader.h"

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "data/ink/colour.h"
#include "engine/error.h"
#include "engine/timer.h"
#include "examples/weft/input/picture_model.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/results.h"

namespace weft::cli {
namespace {

// Appends 128 + 127 * value / scale, and returns that scale: the largest magnitude.
float append_bytes(std::string& bytes, const std::vector<float>& values) {
  float scale = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      throw Error(ErrorKind::data, "a layer's output is not a number: its weights are damaged");
    }
    scale = std::max(scale, std::fabs(value));
  }
  for (const float value : values) {
    const float share = scale > 0 ? value / scale : 0;
    bytes += static_cast<char>(static_cast<std::uint8_t>(std::lround(128 + 127 * share)));
  }
  return scale;
}

}  // namespace

Reader::Reader(const models::Model& model, std::string notice)
    : model_(model),
      notice_(std::move(notice)),
      classifier_(model, Stream(Device::cpu()), {.fuse = false}) {
  const auto layers = model.net->layers();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const layers::LayerTraits traits = layers[i]->traits();
    const bool marks =
        traits.junction == layers::Junction::fork || traits.junction == layers::Junction::shortcut;
    if (!traits.view && !traits.identity_in_inference && !marks) visible_.push_back(i);
  }
}

std::string Reader::describe() const {
  nlohmann::ordered_json event =
      json_event("model", {{"network", model_.info.network.name},
                           {"dataset", model_.info.dataset},
                           {"height", model_.info.network.height},
                           {"width", model_.info.network.width},
                           {"parameters", model_.net->parameter_count()},
                           {"output", models::name_of(model_.info.output)},
                           {"normalisation", models::name_of(model_.info.normalisation)},
                           {"notice", notice_},
                           {"classes", nlohmann::ordered_json::array()},
                           {"layers", nlohmann::ordered_json::array()}});
  const Classes classes(model_.info.class_names);
  for (const std::string& name : classes.names) event["classes"].push_back(name);
  const std::vector<Shape> shapes = model_.net->output_shapes(1);
  for (const std::size_t i : visible_) {
    const layers::Layer& layer = *model_.net->layers()[i];
    const auto extents = shapes[i].extents().subspan(1);
    event["layers"].push_back({{"name", layer.name()},
                               {"description", layer.describe()},
                               {"shape", std::vector(extents.begin(), extents.end())}});
  }
  return json_line(event);
}

std::string Reader::read(std::span<const std::uint8_t> picture) {
  const std::lock_guard lock(one_at_a_time_);
  // For one image at a time, waking more threads costs more than it saves. Each thread that calls
  // has a setting of its own.
  omp_set_num_threads(1);
  const Timer timer;
  const std::string name = "the picture";
  const data::GreyImage image = looks_for_ink(model_.info) ? data::decode_ink_image(picture, name)
                                                           : data::decode_grey_image(picture, name);
  const data::PreparedImage prepared =
      data::prepare_image(image, preprocess_for(model_.info, image), data::Invert::automatic, name,
                          picture_size(model_.info), models::judge_by(classifier_));
  const models::Answer answer = classifier_.classify(prepared.pixels);
  const std::string reduced =
      image.reduction > 1 ? "a large JPEG: " + data::reduction_text(image.reduction) : "";
  nlohmann::ordered_json event = json_event("read", {{"label", answer.ranking.front()},
                                                     {"probabilities", answer.probabilities},
                                                     {"unsure", answer.unsure},
                                                     {"inverted", prepared.inverted},
                                                     {"left_out", prepared.left_out.count()},
                                                     {"reduced", reduced}});
  std::string bytes(prepared.pixels.begin(), prepared.pixels.end());
  for (const std::size_t layer : visible_) {
    event["scales"].push_back(append_bytes(bytes, classifier_.activation(layer)));
  }
  event["milliseconds"] = 1e3 * timer.seconds();
  return json_line(event) + bytes;
}

}  // namespace weft::cli
