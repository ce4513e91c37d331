// SPDX-License-Identifier: MIT
#include "data/tables/pickled_arrays.h"

#include <cmath>
#include <cstring>

#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kMostArrays = 64;
constexpr int kMostLevels = 4;

bool is_sequence(const PickleValue& value) {
  return value.kind == Kind::tuple || value.kind == Kind::list;
}

// A list of words: labels, or the names of classes.
std::optional<std::vector<std::string>> words_of_list(const PickleValue& list) {
  if (!is_sequence(list) || list.items.empty()) return std::nullopt;
  std::vector<std::string> words;
  for (const PickleValue* item : list.items) {
    if (!item->is_text()) return std::nullopt;
    words.push_back(item->text);
  }
  return words;
}

// A picture with its label, as a data set of PyTorch gives them: (array, 3), ["cat", array] or
// {"image": array, "label": 3}.
struct Sample {
  const NpyArray* image = nullptr;
  const PickleValue* label = nullptr;
};

bool is_label(const PickleValue& value) {
  const bool is_scalar = value.kind == Kind::array && value.array->shape.empty();
  return value.kind == Kind::integer || value.is_text() || is_scalar;
}

std::optional<Sample> sample_of(const PickleValue& value) {
  const bool is_dict = value.kind == Kind::dict;
  if (value.items.size() != (is_dict ? 4 : 2) || (!is_dict && !is_sequence(value))) return {};
  Sample sample;
  for (std::size_t i = is_dict ? 1 : 0; i < value.items.size(); i += is_dict ? 2 : 1) {
    const PickleValue& part = *value.items[i];
    if (part.kind == Kind::array && part.array->shape.size() >= 2) sample.image = part.array.get();
    if (is_label(part)) sample.label = &part;
  }
  if (sample.image == nullptr || sample.label == nullptr) return {};
  return sample;
}

std::vector<Sample> samples_of(const PickleValue& value) {
  if (!is_sequence(value)) return {};
  std::vector<Sample> samples;
  for (const PickleValue* item : value.items) {
    const std::optional<Sample> sample = sample_of(*item);
    if (!sample) return {};
    samples.push_back(*sample);
  }
  return samples;
}

bool holds_arrays(const PickleValue& value) {
  return value.kind == Kind::dict ||
         (is_sequence(value) && !array_of_list(value) && !words_of_list(value));
}

class Collector {
 public:
  Collector(const std::string& where) : where_(where) {}

  void add(const PickleValue& value, const std::string& name, int level = 0) {
    if (level > kMostLevels) return;
    if (value.kind == Kind::array && !value.array->shape.empty()) {
      take(name, *value.array);
    } else if (std::optional<NpyArray> list = array_of_list(value)) {
      take(name, std::move(*list));
    } else if (std::optional<std::vector<std::string>> words = words_of_list(value)) {
      const std::int64_t count = std::ssize(*words);
      take(name, {"u1", {count}, {}}, std::move(*words));
    } else if (const std::vector<Sample> samples = samples_of(value); !samples.empty()) {
      add_samples(samples, name);
    } else if (value.kind == Kind::dict) {
      add_dict(value, name, level);
    } else if (is_sequence(value)) {
      add_parts(value, name, level);
    }
  }

  std::vector<NamedArray> finish() {
    if (arrays_.empty()) throw refused("no arrays in it");
    return std::move(arrays_);
  }

 private:
  Error refused(const std::string& what) const {
    return Error(ErrorKind::data, str(where_, ": ", what));
  }

  void take(const std::string& name, NpyArray array, std::vector<std::string> words = {}) {
    if (arrays_.size() == kMostArrays) {
      throw refused(str("more than ", kMostArrays, " arrays, expected those of images and labels"));
    }
    arrays_.push_back(
        {name, str(where_, ": ", printable(name)), std::move(array), std::move(words)});
  }

  // One array of all images, and one of their labels.
  void add_samples(const std::vector<Sample>& samples, const std::string& name) {
    const NpyArray& first = *samples.front().image;
    const std::int64_t count = std::ssize(samples);
    NpyArray images{first.dtype, first.shape, {}};
    images.shape.insert(images.shape.begin(), count);
    images.bytes.reserve(samples.size() * first.bytes.size());
    std::vector<std::string> labels;
    for (const auto& [image, label] : samples) {
      if (image->dtype != first.dtype || image->shape != first.shape) {
        throw refused(str("image ", labels.size() + 1, " has another size or type than the first: ",
                          "expected images of one size"));
      }
      images.bytes.insert(images.bytes.end(), image->bytes.begin(), image->bytes.end());
      labels.push_back(label->is_text() ? label->text : number_text(*label));
    }
    take(name + "_images", std::move(images));
    take(name + "_labels", {"u1", {count}, {}}, std::move(labels));
  }

  std::string number_text(const PickleValue& label) const {
    const double value = label.kind == Kind::integer ? static_cast<double>(label.integer)
                                                     : element_of(*label.array)(*label.array, 0);
    if (!(std::fabs(value) < 1e15) || value != std::round(value)) {
      throw refused(str("the label ", value, ", expected a whole number or text"));
    }
    return std::to_string(static_cast<std::int64_t>(value));
  }

  void add_dict(const PickleValue& dict, const std::string& name, int level) {
    if (dict.find("batch_label") != nullptr) {
      throw refused("a batch of CIFAR: --data with the folder of all batches reads them");
    }
    const bool has_fine_labels = dict.find("fine_labels") != nullptr;
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const PickleValue& key = *dict.items[i];
      if (!key.is_text() || (has_fine_labels && key.text == "coarse_labels")) continue;
      add(*dict.items[i + 1], str(name, "_", key.text), level + 1);
    }
  }

  void add_parts(const PickleValue& parts, const std::string& name, int level) {
    const auto& items = parts.items;
    const bool are_sets = items.size() == 3 ||
                          (items.size() == 2 && holds_arrays(*items[0]) && holds_arrays(*items[1]));
    if (items.size() > 3) return;
    const char* const names[] = {"_train", items.size() == 3 ? "_validation" : "_test", "_test"};
    for (std::size_t i = 0; i < items.size(); ++i) {
      add(*items[i], are_sets ? name + names[i] : name, level + 1);
    }
  }

  const std::string& where_;
  std::vector<NamedArray> arrays_;
};

}  // namespace

std::optional<NpyArray> array_of_list(const PickleValue& list) {
  if (!is_sequence(list) || list.items.empty()) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const PickleValue* item : list.items) {
    if (item->kind != Kind::integer && item->kind != Kind::boolean) return std::nullopt;
    numbers.push_back(item->integer);
  }
  NpyArray array{"i8", {std::ssize(numbers)}, std::vector<std::byte>(8 * numbers.size())};
  std::memcpy(array.bytes.data(), numbers.data(), array.bytes.size());
  return array;
}

std::vector<NamedArray> pickled_arrays(const Pickle& pickle, const std::string& name,
                                       const std::string& where) {
  Collector collector(where);
  collector.add(*pickle.root, name);
  return collector.finish();
}

}  // namespace weft::data
