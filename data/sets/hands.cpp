// SPDX-License-Identifier: MIT
#include "data/sets/hands.h"

#include <algorithm>
#include <vector>

#include "data/hard/damage.h"
#include "data/hard/pen.h"
#include "data/sets/digits.h"
#include "data/sets/drawn_set.h"
#include "engine/error.h"

namespace weft::data {
namespace {

constexpr std::int64_t kSide = 28, kPixels = kSide * kSide;

const std::uint8_t* digit_at(const ImageSet& set, std::int64_t index) {
  return set.image(index % set.count).data();
}

}  // namespace

void add_hands(Dataset& dataset, std::uint64_t seed) {
  ImageSet& train = dataset.train;
  if (train.height != kSide || train.width != kSide || train.channels != 1 ||
      dataset.class_names.size() != 10) {
    throw Error(ErrorKind::usage, str(dataset.name,
                                      " has no digits of 28 x 28: other hands can be "
                                      "added to such data only"));
  }
  const std::int64_t own = train.count, drawn = own / 3 * 2, damaged = own / 2;
  train.count = 2 * own + drawn + damaged;
  train.images.resize(static_cast<std::size_t>(train.count * kPixels));
  train.labels.resize(static_cast<std::size_t>(train.count));
  on_all_cores(train.count - own, [&](std::int64_t added) {
    const std::int64_t i = own + added;
    std::uint8_t* const image = &train.images[static_cast<std::size_t>(i * kPixels)];
    std::int32_t& label = train.labels[static_cast<std::size_t>(i)];
    const std::int64_t from = added < own ? added : (added - own - drawn) * 2;  // for some
    Draw draw(seed, static_cast<std::uint64_t>(i));
    if (added >= own && added < own + drawn) {
      label = static_cast<std::int32_t>(i % 10);
      return draw_rare_digit(label, seed, static_cast<std::uint64_t>(i), image);
    }
    label = train.labels[static_cast<std::size_t>(from)];
    const std::uint8_t* const digit = &train.images[static_cast<std::size_t>(from * kPixels)];
    if (added < own) return change_pen(digit, draw.uniform(-1.5f, 2.5f), image);
    constexpr float kLegible = 0.5f;
    draw_damaged(digit, draw.uniform(0, kLegible), draw, image);
  });
  ImageSet& strangers = dataset.strangers;
  strangers = {drawn, 1, kSide, kSide, {}, {}};
  strangers.images.resize(static_cast<std::size_t>(drawn * kPixels));
  strangers.labels.resize(static_cast<std::size_t>(drawn));
  on_all_cores(drawn, [&](std::int64_t i) {
    Draw draw(seed + 1, static_cast<std::uint64_t>(i));
    const auto at = static_cast<std::size_t>(i);
    draw_stranger(at, digit_at(train, i), digit_at(train, 7 * i + 1), draw,
                  &strangers.images[at * kPixels]);
    strangers.labels[at] = std::min(9, static_cast<std::int32_t>(draw.uniform(0, 10)));
  });
}

HardPictures hard_pictures(const ImageSet& digits, std::uint64_t seed, std::int64_t most) {
  if (digits.height != kSide || digits.width != kSide || digits.channels != 1) {
    throw Error(ErrorKind::usage, "only digits of 28 x 28 can be damaged");
  }
  const std::int64_t damaged = std::min(digits.count, most);
  HardPictures result;
  result.images = {2 * damaged, 1, kSide, kSide, {}, {}};
  result.images.images.resize(static_cast<std::size_t>(2 * damaged * kPixels));
  result.images.labels.resize(static_cast<std::size_t>(2 * damaged));
  result.is_digit.resize(static_cast<std::size_t>(2 * damaged));
  on_all_cores(2 * damaged, [&](std::int64_t i) {
    Draw draw(seed, static_cast<std::uint64_t>(i));
    std::uint8_t* const image = &result.images.images[static_cast<std::size_t>(i * kPixels)];
    const auto at = static_cast<std::size_t>(i);
    if (i >= damaged)
      return draw_stranger(at, digit_at(digits, i), digit_at(digits, 7 * i + 1), draw, image);
    result.is_digit[at] = 1;
    result.images.labels[at] = digits.labels[at];
    draw_damaged(digits.image(i).data(), draw.uniform(0, 1), draw, image);
  });
  return result;
}

}  // namespace weft::data
