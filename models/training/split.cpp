// SPDX-License-Identifier: MIT
#include "models/training/split.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/random.h"
#include "engine/timings.h"

namespace weft::models {

namespace {

void append(data::ImageSet& to, const data::ImageSet& from, std::int64_t image) {
  const std::int64_t pixels = from.pixels();
  const auto first = from.images.begin() + image * pixels;
  to.images.insert(to.images.end(), first, first + pixels);
  to.labels.push_back(from.labels[static_cast<std::size_t>(image)]);
  ++to.count;
}

}  // namespace

TrainSplit split_images(const data::ImageSet& set, std::int64_t count, double share,
                        std::uint64_t seed) {
  const auto held_out = static_cast<std::int64_t>(std::llround(share * static_cast<double>(count)));
  if (held_out < 1 || held_out >= count) {
    throw Error(ErrorKind::usage,
                str("a validation split of ", share, " of ", count, " images leaves a set empty"));
  }
  const Random4 drawn = philox(seed, RandomStream::split, 0, 0);
  const std::uint64_t key = (std::uint64_t{drawn.value[0]} << 32) | drawn.value[1];
  TrainSplit split;
  for (data::ImageSet* part : {&split.train, &split.validation}) {
    part->channels = set.channels;
    part->height = set.height;
    part->width = set.width;
    const std::int64_t images = part == &split.train ? count - held_out : held_out;
    part->images.reserve(static_cast<std::size_t>(images * set.pixels()));
    part->labels.reserve(static_cast<std::size_t>(images));
  }
  for (std::int64_t image = 0; image < count; ++image) {
    const bool validates = permuted_index(image, count, key) < held_out;
    append(validates ? split.validation : split.train, set, image);
  }
  return split;
}

std::int64_t images_used(const data::Dataset& dataset, const TrainConfig& config) {
  const std::int64_t all = dataset.train.count;
  return std::min(config.limit_train.value_or(all), all);
}

void keep_first(data::ImageSet& set, std::optional<std::int64_t> count) {
  if (!count || *count >= set.count) return;
  set.count = *count;
  set.images.resize(static_cast<std::size_t>(set.count * set.pixels()));
  set.labels.resize(static_cast<std::size_t>(set.count));
}

std::optional<TrainSplit> split_of(const data::Dataset& dataset, const TrainConfig& config) {
  const std::int64_t images = images_used(dataset, config);
  if (dataset.validation.count > 0) {
    TrainSplit split{dataset.train, dataset.validation};
    keep_first(split.train, images);
    return split;
  }
  if (config.validation_split == 0 && held_out_images(config, images) == 0) return std::nullopt;
  return split_images(dataset.train, images, held_out_share(config), config.seed);
}

PreparedData prepare(const data::Dataset& dataset, const TrainConfig& config) {
  const TimedScope timed("split and fingerprint the data");
  return {fingerprint_of(dataset), split_of(dataset, config)};
}

}  // namespace weft::models
