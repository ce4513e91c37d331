// SPDX-License-Identifier: MIT
#include "data/sets/doubts.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

constexpr std::size_t kFewImages = 10, kMostNames = 5;

std::string few_images_line(const Dataset& dataset) {
  std::vector<std::size_t> counts(dataset.class_names.size(), 0);
  for (const std::int32_t label : dataset.train.labels) ++counts[static_cast<std::size_t>(label)];
  std::string names;
  std::size_t few = 0;
  for (std::size_t label = 0; label < counts.size(); ++label) {
    if (counts[label] >= kFewImages || ++few > kMostNames) continue;
    names +=
        str(names.empty() ? "" : ", ", printable(dataset.class_names[label]), " ", counts[label]);
  }
  if (few == 0) return "";
  return str(few, " of ", counts.size(), few == 1 ? " classes has" : " classes have",
             " fewer than ", kFewImages, " training images: ", names,
             few > kMostNames ? ", ..." : "");
}

std::string_view bytes_of(const ImageSet& set, std::int64_t index) {
  const std::span<const std::uint8_t> image = set.image(index);
  return {reinterpret_cast<const char*>(image.data()), image.size()};
}

bool is_of_one_colour(std::string_view image) {
  return image.find_first_not_of(image.front()) == std::string_view::npos;
}

std::string repeated_line(const Dataset& dataset) {
  std::unordered_set<std::string_view> trained;
  trained.reserve(static_cast<std::size_t>(dataset.train.count));
  for (std::int64_t i = 0; i < dataset.train.count; ++i) trained.insert(bytes_of(dataset.train, i));
  std::string counts;
  for (const auto& [set, name] :
       {std::pair{&dataset.validation, "validation"}, std::pair{&dataset.test, "test"}}) {
    if (set->pixels() != dataset.train.pixels()) continue;
    std::int64_t repeated = 0;
    for (std::int64_t i = 0; i < set->count; ++i) {
      const std::string_view image = bytes_of(*set, i);
      repeated += trained.contains(image) && !is_of_one_colour(image);
    }
    if (repeated == 0) continue;
    counts +=
        str(counts.empty() ? "" : " and ", repeated, " of ", set->count, " ", name, " images");
  }
  return counts.empty() ? "" : str(counts, " are in the training set, too, pixel for pixel");
}

}  // namespace

std::vector<std::string> doubts_about(const Dataset& dataset) {
  std::vector<std::string> lines = {few_images_line(dataset), repeated_line(dataset)};
  std::erase(lines, "");
  return lines;
}

}  // namespace weft::data
