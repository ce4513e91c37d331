// SPDX-License-Identifier: MIT
#include "models/int8/ranges.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "models/answers/classifier.h"
#include "models/answers/evaluate.h"

namespace weft::models {

namespace {

void widen(ValueRange& range, std::span<const float> values, const std::string& layer) {
  for (const float value : values) {
    if (!std::isfinite(value)) {
      throw Error(ErrorKind::data,
                  str(layer, " makes a value that is not a number: its weights are damaged"));
    }
    range.least = std::min(range.least, value);
    range.most = std::max(range.most, value);
  }
}

}  // namespace

std::vector<ValueRange> measure_ranges(const Model& model, const data::ImageSet& images) {
  check_images(images, model.info.network, "calibration");
  const Stream stream(Device::cpu());
  layers::Weights weights(*model.net, stream, layers::Phase::inference);
  copy_from_host(weights.parameters.view<float>(), std::span(model.parameters), stream);
  copy_from_host(weights.buffers.view<float>(), std::span(model.buffers), stream);
  // Without joined layers, each output is there to be read.
  layers::Plan plan(*model.net, weights, 1, layers::Phase::inference, {.fuse = false}, 0, nullptr,
                    stream);
  std::vector<ValueRange> ranges(model.net->layers().size());
  for (std::int64_t i = 0; i < std::min(images.count, kRangeImages); ++i) {
    copy_from_host(plan.input(), normalized(images.image(i), model.info), stream);
    plan.forward(stream);
    for (std::size_t layer = 0; layer < ranges.size(); ++layer) {
      widen(ranges[layer], to_host(plan.activation(layer), stream),
            model.net->layers()[layer]->name());
    }
  }
  return ranges;
}

}  // namespace weft::models
