// SPDX-License-Identifier: MIT
#include "data/joined.h"

#include <algorithm>
#include <utility>

#include "data/sets/statistics.h"
#include "engine/error.h"

namespace weft::data {
namespace {

std::string sizes_of(const Dataset& dataset) {
  const ImageSet& set = dataset.train.count > 0 ? dataset.train : dataset.test;
  return str(set.channels, " x ", set.height, " x ", set.width);
}

// The place of each class of `other` among the classes of `dataset`, which gets those that it
// lacks.
std::vector<std::int32_t> add_classes(Dataset& dataset, const Dataset& other) {
  std::vector<std::int32_t> places;
  for (const std::string& name : other.class_names) {
    auto& names = dataset.class_names;
    const auto found = std::find(names.begin(), names.end(), name);
    places.push_back(static_cast<std::int32_t>(found - names.begin()));
    if (found == names.end()) names.push_back(name);
  }
  return places;
}

void append(ImageSet& to, ImageSet from, const std::vector<std::int32_t>& places) {
  if (from.count == 0) return;
  for (std::int32_t& label : from.labels) label = places[static_cast<std::size_t>(label)];
  if (to.count == 0) {
    to = std::move(from);
    return;
  }
  to.count += from.count;
  to.images.insert(to.images.end(), from.images.begin(), from.images.end());
  to.labels.insert(to.labels.end(), from.labels.begin(), from.labels.end());
}

}  // namespace

Dataset joined(std::vector<Dataset> datasets) {
  Dataset all = std::move(datasets.front());
  for (std::size_t i = 1; i < datasets.size(); ++i) {
    Dataset& other = datasets[i];
    if (sizes_of(other) != sizes_of(all)) {
      throw Error(ErrorKind::data, str(other.source, " has images of ", sizes_of(other), ", but ",
                                       all.source, " of ", sizes_of(all)));
    }
    const std::vector<std::int32_t> places = add_classes(all, other);
    append(all.train, std::move(other.train), places);
    append(all.validation, std::move(other.validation), places);
    append(all.test, std::move(other.test), places);
    all.name += "+" + other.name;
    all.source += ", " + other.source;
    all.sample_bits = std::max(all.sample_bits, other.sample_bits);
  }
  set_statistics(all);
  return all;
}

}  // namespace weft::data
