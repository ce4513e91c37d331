// SPDX-License-Identifier: MIT
#include "data/tables/pickled_arrays.h"

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
