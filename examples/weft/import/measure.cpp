// SPDX-License-Identifier: MIT
#include "examples/weft/import/measure.h"

#include <algorithm>

#include "data/own_data.h"
#include "examples/weft/input/labelled_data.h"
#include "models/answers/evaluate.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kMostImages = 2000;  // a percent is more than their standard error

data::Dataset load(const models::ModelInfo& info, const std::string& data,
                   const std::string& progress) {
  if (std::ranges::count(data::dataset_names(), data) > 0) return load_images(data, {}, 1, true);
  OwnDataFlags flags;
  flags.path = data;
  return load_own_for(info, flags, data::Holding::nothing, progress);
}

// At most so many images, evenly from a set that may be sorted by class.
data::ImageSet thinned(const data::ImageSet& set, std::int64_t most) {
  data::ImageSet part{.count = std::min(set.count, most),
                      .channels = set.channels,
                      .height = set.height,
                      .width = set.width};
  const std::int64_t pixels = set.pixels();
  for (std::int64_t i = 0; i < part.count; ++i) {
    const std::int64_t from = i * set.count / part.count;
    const auto first = set.images.begin() + from * pixels;
    part.images.insert(part.images.end(), first, first + pixels);
    part.labels.push_back(set.labels[static_cast<std::size_t>(from)]);
  }
  return part;
}

}  // namespace

Measurement measure_scales(models::Model& model, const models::InputScale& file,
                           const std::string& data, const std::string& progress) {
  const data::Dataset dataset = load(model.info, data, progress);
  check_fit(model.info, dataset);
  const data::ImageSet images = thinned(dataset.test, kMostImages);
  Measurement measured{data, images.count, {}, 0};
  const auto set = [&](const models::UsualScale& scale) {
    models::set_normalisation(model.info, scale.pixels, file, models::NormalisationSource::measured,
                              dataset.source);
  };
  const Device device = Device::cpu();
  for (const models::UsualScale& scale : models::usual_scales(model.info.network.channels)) {
    set(scale);
    const models::Evaluation evaluation =
        models::evaluate(model, images, models::evaluation_batch(device), {}, Stream(device));
    measured.scales.push_back({scale, evaluation.metrics.accuracy});
    const double best = measured.scales[measured.best].accuracy;
    if (evaluation.metrics.accuracy > best) measured.best = measured.scales.size() - 1;
  }
  set(measured.scales[measured.best].scale);
  return measured;
}

}  // namespace weft::cli
