// SPDX-License-Identifier: MIT
#include "data/tables/labelled_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "data/files/counted.h"
#include "data/sets/statistics.h"
#include "engine/error.h"
#include "engine/random.h"
#include "engine/text.h"

namespace weft::data {
namespace {

Error bad(const std::string& where, const std::string& what) {
  return Error(ErrorKind::data, str(where, ": ", what));
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc{} || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Numbers in their order, and anything else in the order of its bytes.
std::map<std::string, std::int32_t> classes_of(const LabelledValues& training,
                                               std::vector<std::string>& names) {
  std::map<std::string, std::int32_t> classes;
  for (const std::string& label : training.labels) {
    if (!is_utf8(label)) throw bad(training.where, "a label is not UTF-8");
    classes.emplace(class_name(label), 0);
    if (classes.size() > kMaxClasses) {
      throw bad(training.where, str("more than ", kMaxClasses, " different labels; is the column ",
                                    "of labels another one? --label names it"));
    }
  }
  if (classes.size() < 2) {
    throw bad(training.where, str("every label is ", printable(classes.begin()->first),
                                  ", expected at least 2 classes"));
  }
  for (const auto& [name, label] : classes) names.push_back(name);
  sort_classes(names);
  for (std::size_t i = 0; i < names.size(); ++i) classes[names[i]] = static_cast<std::int32_t>(i);
  return classes;
}

struct Range {
  double low = 0, high = 0;
};

Range range_of(const LabelledValues& values) {
  if (!values.bytes.empty()) {
    const auto [low, high] = std::minmax_element(values.bytes.begin(), values.bytes.end());
    return {static_cast<double>(*low), static_cast<double>(*high)};
  }
  Range range{HUGE_VAL, -HUGE_VAL};
  for (const float value : values.floats) {
    if (!std::isfinite(value)) throw bad(values.where, "a value is not finite");
    range.low = std::min(range.low, static_cast<double>(value));
    range.high = std::max(range.high, static_cast<double>(value));
  }
  return range;
}

// A value's byte is (value - black) * 255 / (white - black).
struct Scale {
  double black = 0, white = 255;
  bool is_whole() const { return black == 0 && white == 255; }
};

Scale scale_for(const Range& range, const std::string& where) {
  if (range.low >= 0) {
    for (const double white : {1.0, 16.0, 255.0, 65535.0}) {
      if (range.high <= white) return {0, white};
    }
  }
  if (range.low >= -1 && range.high <= 1) return {-1, 1};
  throw bad(where, fmt::format("values from {:g} to {:g}: expected 0 to 255, 0 to 1, -1 to 1, 0 to "
                               "16 or 0 to 65535; were they normalised?",
                               range.low, range.high));
}

Bytes scaled(const LabelledValues& values, const Scale& scale) {
  const auto byte_of = [&](double value) {
    const double byte = (value - scale.black) * 255 / (scale.white - scale.black);
    return static_cast<std::uint8_t>(std::lround(std::clamp(byte, 0.0, 255.0)));
  };
  Bytes bytes;
  bytes.reserve(values.bytes.size() + values.floats.size());
  for (const std::uint8_t value : values.bytes) {
    bytes.push_back(byte_of(static_cast<double>(value)));
  }
  for (const float value : values.floats) bytes.push_back(byte_of(static_cast<double>(value)));
  return bytes;
}

ImageSet image_set(LabelledValues values, const Scale& scale,
                   const std::map<std::string, std::int32_t>& classes) {
  ImageSet set{.count = values.count,
               .channels = values.channels,
               .height = values.height,
               .width = values.width,
               .images = scale.is_whole() && !values.bytes.empty() ? std::move(values.bytes)
                                                                   : scaled(values, scale)};
  set.labels.reserve(values.labels.size());
  for (std::size_t row = 0; row < values.labels.size(); ++row) {
    const auto found = classes.find(class_name(values.labels[row]));
    if (found == classes.end()) {
      throw bad(values.where, str("image ", row + 1, " has the label ", shown(values.labels[row]),
                                  ", which no training image has"));
    }
    set.labels.push_back(found->second);
  }
  return set;
}

void move_image(ImageSet& to, const ImageSet& from, std::size_t row) {
  const auto image = from.image(static_cast<std::int64_t>(row));
  to.images.insert(to.images.end(), image.begin(), image.end());
  to.labels.push_back(from.labels[row]);
  ++to.count;
}

// Moves a tenth of each class into a test set, and one at least where there are two. Which rows it
// is depends on their numbers only.
void hold_out(Dataset& dataset) {
  const ImageSet all = std::move(dataset.train);
  std::vector<std::vector<std::pair<std::uint32_t, std::size_t>>> rows(dataset.class_names.size());
  for (std::size_t row = 0; row < all.labels.size(); ++row) {
    const std::uint32_t key = philox(0, RandomStream::data, 0, row).value[0];
    rows[static_cast<std::size_t>(all.labels[row])].emplace_back(key, row);
  }
  std::vector<bool> tests(all.labels.size(), false);
  for (auto& of_class : rows) {
    std::sort(of_class.begin(), of_class.end());
    const std::size_t wanted =
        of_class.size() < 2 ? 0 : std::max<std::size_t>(1, (of_class.size() + 5) / 10);
    for (std::size_t i = 0; i < wanted; ++i) tests[of_class[i].second] = true;
  }
  const ImageSet none{.channels = all.channels, .height = all.height, .width = all.width};
  dataset.train = dataset.test = none;
  const std::int64_t held_out = std::count(tests.begin(), tests.end(), true);
  dataset.test.images.reserve(static_cast<std::size_t>(held_out * all.pixels()));
  dataset.train.images.reserve(static_cast<std::size_t>((all.count - held_out) * all.pixels()));
  for (std::size_t row = 0; row < tests.size(); ++row) {
    move_image(tests[row] ? dataset.test : dataset.train, all, row);
  }
}

std::string shape_text(const LabelledValues& values) {
  return fmt::format("{} x {} {}", values.height, values.width,
                     values.channels == 3 ? "in colour" : "grey");
}

void check_shapes(const LabelledValues& training, const LabelledValues& other) {
  if (shape_text(training) == shape_text(other)) return;
  throw bad(other.where, fmt::format("images of {}, but those in {} are {}", shape_text(other),
                                     training.where, shape_text(training)));
}

std::string found_text(const LabelledValues& values, const std::vector<std::string>& names,
                       const Range& range, const Scale& scale) {
  const std::string scaling =
      scale.is_whole()
          ? ""
          : fmt::format(", where {:g} is black and {:g} is white", scale.black, scale.white);
  return fmt::format("{} of {} classes, {} to {}, {}, values {:g} to {:g}{}, in {}",
                     counted(values.count, "image"), names.size(), printable(names.front()),
                     printable(names.back()), shape_text(values), range.low, range.high, scaling,
                     values.where);
}

}  // namespace

std::string class_name(std::string_view label) {
  const std::optional<double> value = number_of(label);
  return value && *value == std::round(*value) && std::fabs(*value) < 1e15
             ? fmt::format("{:.0f}", *value + 0.0)
             : std::string(label);
}

void sort_classes(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  if (std::all_of(names.begin(), names.end(), [](const auto& name) { return number_of(name); })) {
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return *number_of(a) < *number_of(b);
    });
  }
}

ImageExtents extents_of(std::int64_t values, const PictureShape& shape, const std::string& where) {
  if (shape.height > 0) {
    for (const std::int64_t channels : {std::int64_t{1}, std::int64_t{3}}) {
      if (shape.channels > 0 && shape.channels != channels) continue;
      if (channels * shape.height * shape.width == values) {
        return {channels, shape.height, shape.width};
      }
    }
    throw Error(ErrorKind::usage, fmt::format("{}: {} values of an image are no {} x {} pixels",
                                              where, values, shape.height, shape.width));
  }
  for (const std::int64_t channels : {std::int64_t{1}, std::int64_t{3}}) {
    if (shape.channels > 0 && shape.channels != channels) continue;
    const auto side = static_cast<std::int64_t>(
        std::llround(std::sqrt(static_cast<double>(values) / static_cast<double>(channels))));
    if (side > 1 && channels * side * side == values) return {channels, side, side};
  }
  throw bad(where, fmt::format("{} values of an image are no square, neither in grey nor in "
                               "colour; --image-size HxW says what they are",
                               values));
}

void separate_channels(LabelledValues& values) {
  if (values.channels == 1) return;
  const auto channels = static_cast<std::size_t>(values.channels);
  const auto plane = static_cast<std::size_t>(values.height * values.width);
  const auto separate = [&](auto& of) {
    std::remove_reference_t<decltype(of)> image(of.empty() ? 0 : channels * plane);
    for (std::size_t at = 0; at + channels * plane <= of.size(); at += channels * plane) {
      std::copy_n(of.begin() + at, image.size(), image.begin());
      for (std::size_t pixel = 0; pixel < plane; ++pixel) {
        for (std::size_t channel = 0; channel < channels; ++channel) {
          of[at + channel * plane + pixel] = image[pixel * channels + channel];
        }
      }
    }
  };
  separate(values.bytes);
  separate(values.floats);
}

Dataset dataset_of(LabelledSets sets, const FolderOptions& options) {
  std::optional<LabelledValues>&training = sets[static_cast<std::size_t>(Split::train)],
  &validation = sets[static_cast<std::size_t>(Split::validation)],
  &test = sets[static_cast<std::size_t>(Split::test)];
  if (!test) test = std::exchange(validation, std::nullopt);
  if (!training) throw bad(test->where, "a test set without a training set beside it");
  const std::string where = training->where;
  Dataset dataset;
  const std::map<std::string, std::int32_t> classes = classes_of(*training, dataset.class_names);
  const Range range = range_of(*training);
  const Scale scale = scale_for(range, training->where);
  for (const auto& set : sets) {
    if (!set) continue;
    check_shapes(*training, *set);
    if (options.log) {
      const Range own = range_of(*set);
      options.log(found_text(*set, dataset.class_names, own, scale));
    }
  }
  dataset.train = image_set(std::move(*training), scale, classes);
  if (validation) dataset.validation = image_set(std::move(*validation), scale, classes);
  if (test) {
    dataset.test = image_set(std::move(*test), scale, classes);
  } else if (options.holding == Holding::nothing) {
    dataset.test = std::exchange(dataset.train, ImageSet{.channels = dataset.train.channels,
                                                         .height = dataset.train.height,
                                                         .width = dataset.train.width});
  } else {
    hold_out(dataset);
  }
  if (dataset.test.count == 0) {
    throw bad(where, "one image in each class: expected more, of which some are held out");
  }
  set_statistics(dataset);
  return dataset;
}

}  // namespace weft::data
