// SPDX-License-Identifier: MIT
#include "data/tables/named_arrays.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "data/files/counted.h"
#include "data/folder/layout.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

enum class Kind { images, labels };

constexpr std::string_view kImageWords[] = {"x",    "data", "image",  "images", "img",
                                            "imgs", "feat", "pixels", "inputs", "features"};
constexpr std::string_view kLabelWords[] = {"y",      "label",   "labels", "lbl",    "lbls",
                                            "target", "targets", "class",  "classes"};

template <class List>
bool holds(const List& list, std::string_view value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

Error bad(const std::string& where, const std::string& what) {
  return Error(ErrorKind::data, str(where, ": ", what));
}

struct Role {
  std::optional<Split> set;
  std::optional<Kind> kind;
};

void add_word(Role& role, std::string_view word) {
  if (holds(kImageWords, word)) {
    role.kind = Kind::images;
  } else if (holds(kLabelWords, word)) {
    role.kind = Kind::labels;
  } else if (word == "tr" || word == "trn") {
    role.set = Split::train;
  } else if (word == "te" || word == "tst") {
    role.set = Split::test;
  } else if (const std::optional<Split> set = split_of(word)) {
    role.set = set;
    const bool names_images = word.ends_with("images") || word.ends_with("imgs");
    if (names_images) role.kind = Kind::images;
  } else if (word.starts_with("x") || word.starts_with("y")) {  // "xtrain"
    const std::optional<Split> rest = split_of(word.substr(1));
    if (!rest) return;
    role.set = rest;
    role.kind = word.front() == 'x' ? Kind::images : Kind::labels;
  } else if (word.ends_with("labels")) {  // "trainlabels"
    role.kind = Kind::labels;
    role.set = split_of(word.substr(0, word.size() - std::string_view("labels").size()));
  }
}

Role role_of(std::string_view name) {
  Role role;
  for (const std::string& word : words_of(name)) add_word(role, word);
  return role;
}

std::string shape_text(const NpyArray& array) {
  std::string text;
  for (const std::int64_t extent : array.shape) text += str(text.empty() ? "" : ", ", extent);
  return str("(", text, array.shape.size() == 1 ? ",)" : ")");
}

std::vector<std::string> labels_of(const NamedArray& named) {
  if (!named.words.empty()) return named.words;
  const NpyArray& array = named.array;
  const NpyElement at = element_of(array);
  const auto rows = static_cast<std::size_t>(array.shape.empty() ? 0 : array.shape.front());
  const std::size_t columns = rows > 0 ? static_cast<std::size_t>(array.elements()) / rows : 0;
  if (array.shape.empty() || array.shape.size() > 2 || rows == 0 || columns == 0) {
    throw bad(named.where, str("labels of the shape ", shape_text(array),
                               ", expected (n,), (n, 1) or (n, classes)"));
  }
  std::vector<std::string> labels;
  labels.reserve(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    double label = at(array, row * columns);
    if (columns > 1) {  // one-hot
      double sum = 0;
      for (std::size_t i = 0; i < columns; ++i) {
        const double value = at(array, row * columns + i);
        sum += value == 0 ? 0 : value == 1 ? 1 : 2;
        if (value == 1) label = static_cast<double>(i);
      }
      if (sum != 1) {
        throw bad(named.where, str("row ", row, " of the labels is not a single 1 among zeros"));
      }
    }
    if (!(std::fabs(label) < 1e15) || label != std::round(label)) {
      throw bad(named.where, str("label ", label, " at index ", row, ", expected a whole number"));
    }
    labels.push_back(std::to_string(static_cast<std::int64_t>(label)));
  }
  return labels;
}

LabelledValues images_of(NamedArray named, const PictureShape& wanted) {
  if (!named.words.empty()) throw bad(named.where, "words, expected images");
  NpyArray& array = named.array;
  const std::vector<std::int64_t>& shape = array.shape;
  LabelledValues values{.where = named.where};
  const auto is_colour = [](std::int64_t channels) { return channels == 1 || channels == 3; };
  bool channels_last = false;
  if (array.elements() == 0) throw bad(named.where, str("no values: ", shape_text(array)));
  if (shape.size() == 2) {
    const ImageExtents extents = extents_of(shape[1], wanted, named.where);
    values.channels = extents.channels;
    values.height = extents.height;
    values.width = extents.width;
    channels_last = true;
  } else if (shape.size() == 3) {
    values.height = shape[1];
    values.width = shape[2];
  } else if (shape.size() == 4 && is_colour(shape[3])) {
    values.channels = shape[3];
    values.height = shape[1];
    values.width = shape[2];
    channels_last = true;
  } else if (shape.size() == 4 && is_colour(shape[1])) {
    values.channels = shape[1];
    values.height = shape[2];
    values.width = shape[3];
  } else {
    throw bad(named.where, str("images of the shape ", shape_text(array),
                               ", expected (n, h, w), (n, h, w, c), (n, c, h, w) or (n, values)"));
  }
  if (values.height > kMaxDatasetSide || values.width > kMaxDatasetSide) {
    throw bad(named.where, str("images of ", values.height, " x ", values.width,
                               ", expected at most ", kMaxDatasetSide, " a side"));
  }
  values.count = shape[0];
  const auto elements = static_cast<std::size_t>(array.elements());
  if (array.dtype == "u1") {
    values.bytes.resize(elements);
    std::memcpy(values.bytes.data(), array.bytes.data(), elements);
  } else {
    const NpyElement at = element_of(array);
    values.floats.reserve(elements);
    for (std::size_t i = 0; i < elements; ++i) {
      values.floats.push_back(static_cast<float>(at(array, i)));
    }
  }
  if (channels_last) separate_channels(values);
  return values;
}

struct Pair {
  std::optional<NamedArray> images, labels;
  std::vector<NamedArray> unnamed;

  void take(NamedArray array, Kind kind) {
    std::optional<NamedArray>& place = kind == Kind::images ? images : labels;
    if (place) {
      throw bad(array.where, str(shown(array.name), " and ", shown(place->name), " are both the ",
                                 kind == Kind::images ? "images" : "labels", " of one set"));
    }
    place = std::move(array);
  }

  bool empty() const { return !images && !labels && unnamed.empty(); }

  // Two arrays, of which one alone can be images: they have more values. Beside images and labels
  // that say so, other arrays are something else.
  void tell_by_shape() {
    if (images && labels) unnamed.clear();
    for (NamedArray& array : unnamed) {
      const bool is_flat = array.array.shape.size() <= 1 ||
                           (array.array.shape.size() == 2 && array.array.shape[1] == 1);
      take(std::move(array), is_flat ? Kind::labels : Kind::images);
    }
    unnamed.clear();
  }

  LabelledValues values(const PictureShape& shape) {
    tell_by_shape();
    if (!images) throw bad(labels->where, "labels without images beside them");
    if (!labels) throw bad(images->where, "images without labels beside them");
    LabelledValues result = images_of(std::move(*images), shape);
    result.labels = labels_of(*labels);
    if (std::ssize(result.labels) != result.count) {
      throw bad(result.where, str(counted(result.count, "image"), ", but ",
                                  counted(result.labels.size(), "label"), " in ", labels->where));
    }
    return result;
  }
};

std::int64_t rows_of(const NamedArray& named) {
  return named.array.shape.empty() ? 0 : named.array.shape.front();
}

bool may_be_images(const NamedArray& named) {
  const std::vector<std::int64_t>& shape = named.array.shape;
  return named.words.empty() && shape.size() >= 2 && shape[1] > 1;
}

// Words beside images of which there are not as many: the names of the classes. They are taken out.
std::vector<std::string> take_class_names(std::vector<NamedArray>& arrays) {
  const auto names = std::find_if(arrays.begin(), arrays.end(), [&](const NamedArray& named) {
    return !named.words.empty() &&
           std::none_of(arrays.begin(), arrays.end(), [&](const NamedArray& images) {
             return may_be_images(images) && rows_of(images) == rows_of(named);
           });
  });
  if (names == arrays.end()) return {};
  std::vector<std::string> words = std::move(names->words);
  arrays.erase(names);
  return words;
}

// "2" becomes the third name, where all labels are such numbers.
void name_labels(LabelledSets& sets, const std::vector<std::string>& names) {
  const std::set<std::string> different(names.begin(), names.end());
  if (different.size() != names.size()) return;
  std::map<std::string, std::string> named;
  for (std::size_t i = 0; i < names.size(); ++i) named[std::to_string(i)] = names[i];
  const auto is_known = [&](const std::string& label) { return named.contains(label); };
  for (const auto& set : sets) {
    if (set && !std::all_of(set->labels.begin(), set->labels.end(), is_known)) return;
  }
  for (auto& set : sets) {
    if (!set) continue;
    for (std::string& label : set->labels) label = named[label];
  }
}

// Arrays of images whose names say neither images nor a set, and no labels: a class in each.
bool are_classes(const std::vector<NamedArray>& arrays) {
  if (arrays.size() < 2) return false;
  const std::vector<std::int64_t>& first = arrays.front().array.shape;
  return std::all_of(arrays.begin(), arrays.end(), [&](const NamedArray& named) {
    const Role role = role_of(named.name);
    const std::vector<std::int64_t>& shape = named.array.shape;
    return may_be_images(named) && !role.set && role.kind != Kind::images &&
           std::equal(shape.begin() + 1, shape.end(), first.begin() + 1, first.end());
  });
}

// How many characters all names begin with, up to the end of a word.
std::size_t common_words(const std::vector<NamedArray>& arrays) {
  std::string_view common = arrays.front().name;
  for (const NamedArray& named : arrays) {
    const auto [a, b] =
        std::mismatch(common.begin(), common.end(), named.name.begin(), named.name.end());
    common = common.substr(0, static_cast<std::size_t>(a - common.begin()));
  }
  return common.find_last_of("_- ") + 1;  // 0 where there is none
}

LabelledValues classes_of_arrays(std::vector<NamedArray> arrays, const PictureShape& shape) {
  const std::size_t common = common_words(arrays);
  LabelledValues all;
  for (NamedArray& named : arrays) {
    const std::string label = named.name.substr(common);
    LabelledValues one = images_of(std::move(named), shape);
    one.labels.assign(static_cast<std::size_t>(one.count), label);
    if (all.count == 0) {
      all = std::move(one);
      continue;
    }
    if (all.bytes.empty() != one.bytes.empty()) {
      throw bad(one.where, str("other values than in ", all.where, ": expected bytes in both, or ",
                               "in none"));
    }
    all.count += one.count;
    all.bytes.insert(all.bytes.end(), one.bytes.begin(), one.bytes.end());
    all.floats.insert(all.floats.end(), one.floats.begin(), one.floats.end());
    all.labels.insert(all.labels.end(), one.labels.begin(), one.labels.end());
  }
  return all;
}

}  // namespace

LabelledSets labelled_sets(std::vector<NamedArray> arrays, const PictureShape& shape) {
  if (are_classes(arrays)) return {classes_of_arrays(std::move(arrays), shape)};
  const std::vector<std::string> names = take_class_names(arrays);
  std::array<Pair, 3> pairs;
  for (NamedArray& array : arrays) {
    const Role role = role_of(array.name);
    Pair& pair = pairs[static_cast<std::size_t>(role.set.value_or(Split::train))];
    if (role.kind) {
      pair.take(std::move(array), *role.kind);
    } else {
      pair.unnamed.push_back(std::move(array));
    }
  }
  LabelledSets sets;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!pairs[i].empty()) sets[i] = pairs[i].values(shape);
  }
  name_labels(sets, names);
  return sets;
}

}  // namespace weft::data
