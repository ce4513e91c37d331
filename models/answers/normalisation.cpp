// SPDX-License-Identifier: MIT
#include "models/answers/normalisation.h"

#include <cmath>

#include "data/sets/mnist.h"
#include "engine/error.h"
#include "engine/names.h"

namespace weft::models {

namespace {

struct Range {
  std::string_view name;
  double mean, stddev;
};
constexpr Range kRanges[] = {{"0..1", 0, 1}, {"-1..1", 0.5, 0.5}, {"0..255", 0, 1.0 / 255}};

}  // namespace

void set_normalisation(ModelInfo& info, const PixelScale& pixels, const InputScale& scale,
                       NormalisationSource source, const std::string& where) {
  const auto channels = static_cast<std::size_t>(info.network.channels);
  const auto of_channels = [&](const std::vector<double>& values) {
    if (values.size() == channels) return values;
    if (values.size() == 1) return std::vector<double>(channels, values[0]);
    throw Error(ErrorKind::usage,
                str(where, ": images have ", channels, " channels, and there are ", values.size(),
                    " numbers to normalise them"));
  };
  const std::vector<double> mean = of_channels(pixels.mean), stddev = of_channels(pixels.stddev);
  const std::vector<double> factor = of_channels(scale.factor), offset = of_channels(scale.offset);
  info.mean.clear();
  info.stddev.clear();
  for (std::size_t c = 0; c < channels; ++c) {
    // factor * (p - mean) / stddev + offset as (p - mean') / stddev'.
    const auto new_stddev = static_cast<float>(stddev[c] / factor[c]);
    const auto new_mean = static_cast<float>(mean[c] - offset[c] * stddev[c] / factor[c]);
    if (!(new_stddev > 0) || !std::isfinite(new_stddev) || !std::isfinite(new_mean)) {
      throw Error(ErrorKind::data, str(where, ": its input is scaled by ", factor[c] / stddev[c],
                                       " and moved by ", offset[c], ", which no float holds"));
    }
    info.mean.push_back(new_mean);
    info.stddev.push_back(new_stddev);
  }
  info.normalisation = source;
}

PixelScale parse_range(std::string_view text) {
  const Range& range = row_named(kRanges, "range", text);
  return {{range.mean}, {range.stddev}};
}

std::vector<UsualScale> usual_scales(std::int64_t channels) {
  std::vector<UsualScale> usual;
  for (const Range& range : kRanges) {
    usual.push_back({std::string(range.name), {{range.mean}, {range.stddev}}});
  }
  if (channels == 1) {
    usual.push_back({"MNIST", {{data::kMnistStatistics.mean}, {data::kMnistStatistics.stddev}}});
    usual.push_back({"Fashion-MNIST", {{0.2860}, {0.3530}}});
  }
  if (channels == 3) {
    usual.push_back({"ImageNet", {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}});
    usual.push_back({"CIFAR-10", {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}}});
  }
  return usual;
}

}  // namespace weft::models
