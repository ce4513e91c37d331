// SPDX-License-Identifier: MIT
#include "models/training/split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "data/files/host_memory.h"
#include "engine/error.h"
#include "engine/random.h"
#include "engine/timings.h"

namespace weft::models {

namespace {

void append(data::ImageSet& to, const data::ImageSet& from, std::int64_t image) {
  const std::int64_t pixels = from.pixels();
  const auto first = from.images.begin() + image * pixels;
  if (&to == &from) {  // which has the room
    const std::size_t size = to.images.size();
    to.images.resize(size + static_cast<std::size_t>(pixels));
    std::copy_n(to.images.begin() + image * pixels, pixels,
                to.images.begin() + static_cast<std::ptrdiff_t>(size));
  } else {
    to.images.insert(to.images.end(), first, first + pixels);
  }
  to.labels.push_back(from.labels[static_cast<std::size_t>(image)]);
  ++to.count;
}

// The first `held_out` images of a permutation.
std::vector<bool> chosen_of_all(std::int64_t count, std::int64_t held_out, std::uint64_t key) {
  std::vector<bool> chosen;
  for (std::int64_t i = 0; i < count; ++i)
    chosen.push_back(permuted_index(i, count, key) < held_out);
  return chosen;
}

// The same share of each class, by the same permutation. Rounded shares that are missing to
// `held_out` come from the classes that rounding took most from.
std::vector<bool> chosen_of_classes(const data::ImageSet& set, std::int64_t count,
                                    std::int64_t held_out, std::uint64_t key) {
  using Drawn = std::pair<std::int64_t, std::int64_t>;  // a place in the permutation, and an image
  std::map<std::int32_t, std::vector<Drawn>> images;
  for (std::int64_t i = 0; i < count; ++i) {
    images[set.labels[static_cast<std::size_t>(i)]].emplace_back(permuted_index(i, count, key), i);
  }
  std::vector<bool> chosen(static_cast<std::size_t>(count), false);
  std::vector<std::tuple<double, std::int64_t, std::int64_t>> next;  // remainder, place, image
  std::int64_t left = held_out;
  for (auto& [label, of_class] : images) {
    std::sort(of_class.begin(), of_class.end());
    const double share = static_cast<double>(held_out) * static_cast<double>(of_class.size()) /
                         static_cast<double>(count);
    const auto whole = static_cast<std::size_t>(share);
    for (std::size_t i = 0; i < whole; ++i) {
      chosen[static_cast<std::size_t>(of_class[i].second)] = true;
    }
    left -= static_cast<std::int64_t>(whole);
    if (whole < of_class.size()) {
      next.emplace_back(static_cast<double>(whole) - share, of_class[whole].first,
                        of_class[whole].second);
    }
  }
  std::sort(next.begin(), next.end());
  for (std::size_t i = 0; i < next.size() && left > 0; ++i, --left) {
    chosen[static_cast<std::size_t>(std::get<2>(next[i]))] = true;
  }
  return chosen;
}

}  // namespace

TrainSplit split_images(const data::ImageSet& set, std::int64_t count, double share,
                        std::uint64_t seed, bool is_stratified) {
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
  const std::vector<bool> validates = is_stratified ? chosen_of_classes(set, count, held_out, key)
                                                    : chosen_of_all(count, held_out, key);
  for (std::int64_t image = 0; image < count; ++image) {
    append(validates[static_cast<std::size_t>(image)] ? split.validation : split.train, set, image);
  }
  return split;
}

void balance_classes(data::ImageSet& set) {
  std::map<std::int32_t, std::vector<std::int64_t>> images;
  for (std::int64_t i = 0; i < set.count; ++i) {
    images[set.labels[static_cast<std::size_t>(i)]].push_back(i);
  }
  std::size_t most = 0;
  for (const auto& [label, of_class] : images) most = std::max(most, of_class.size());
  const std::uint64_t bytes =
      static_cast<std::uint64_t>(images.size()) * most * static_cast<std::uint64_t>(set.pixels());
  data::require_room("training images with --balance", bytes, 2, data::host_room(),
                     "train without it, or on fewer images");
  set.images.reserve(bytes);
  for (const auto& [label, of_class] : images) {
    for (std::size_t i = of_class.size(); i < most; ++i) {
      append(set, set, of_class[i % of_class.size()]);
    }
  }
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
  std::optional<TrainSplit> split;
  if (dataset.validation.count > 0) {
    split.emplace(TrainSplit{dataset.train, dataset.validation});
    keep_first(split->train, images);
  } else if (config.validation_split > 0 || held_out_images(config, images) > 0) {
    split =
        split_images(dataset.train, images, held_out_share(config), config.seed, dataset.own_data);
  } else if (config.balance) {
    split.emplace(TrainSplit{dataset.train, {}});
    keep_first(split->train, images);
  }
  if (config.balance) balance_classes(split->train);
  if (split && dataset.strangers.count > 0) {
    const std::int64_t strangers = dataset.strangers.count * images / dataset.train.count;
    for (std::int64_t i = 0; i < strangers; ++i) append(split->train, dataset.strangers, i);
  }
  return split;
}

PreparedData prepare(const data::Dataset& dataset, const TrainConfig& config) {
  const TimedScope timed("split and fingerprint the data");
  return {fingerprint_of(dataset), split_of(dataset, config)};
}

}  // namespace weft::models
