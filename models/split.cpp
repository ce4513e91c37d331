// SPDX-License-Identifier: MIT
#include "models/split.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/random.h"

namespace weft::models {

namespace {

void append(data::ImageSet& to, const data::ImageSet& from, std::int64_t image) {
  const std::int64_t pixels = from.height * from.width;
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
    part->height = set.height;
    part->width = set.width;
    const std::int64_t images = part == &split.train ? count - held_out : held_out;
    part->images.reserve(static_cast<std::size_t>(images * set.height * set.width));
    part->labels.reserve(static_cast<std::size_t>(images));
  }
  for (std::int64_t image = 0; image < count; ++image) {
    const bool validates = permuted_index(image, count, key) < held_out;
    append(validates ? split.validation : split.train, set, image);
  }
  return split;
}

}  // namespace weft::models
