// SPDX-License-Identifier: MIT
#include "data/sets/cifar.h"

#include <algorithm>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

#include "data/files/gzip.h"
#include "data/pickle/pickle.h"
#include "data/sets/idx.h"
#include "data/sets/statistics.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

constexpr std::int64_t kSide = 32, kPixels = 3 * kSide * kSide;
constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // of a file; the largest has 154 MB

struct Kind {
  std::vector<std::string> train;
  std::string test, names;
  std::int64_t labels;  // bytes before the pixels; the last one is the class
  std::size_t classes;
  std::string_view label_key = {}, name_key = {};  // of pickles

  bool is_pickled() const { return !label_key.empty(); }
};

const Kind kKinds[] = {
    {{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
      "data_batch_5.bin"},
     "test_batch.bin",
     "batches.meta.txt",
     1,
     10},
    {{"train.bin"}, "test.bin", "fine_label_names.txt", 2, 100},
    {{"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"},
     "test_batch",
     "batches.meta",
     0,
     10,
     "labels",
     "label_names"},
    {{"train"}, "test", "meta", 0, 100, "fine_labels", "fine_label_names"}};

Error bad(const TreePath& path, const std::string& what) {
  return Error(ErrorKind::data, str(path.string(), ": ", what));
}

void append_image(const TreePath& path, const Kind& kind, std::int64_t record, std::int64_t label,
                  std::span<const std::uint8_t> pixels, ImageSet& set) {
  if (label < 0 || label >= static_cast<std::int64_t>(kind.classes)) {
    throw bad(path,
              str("label ", label, " in record ", record, ", expected 0 to ", kind.classes - 1));
  }
  set.labels.push_back(static_cast<std::int32_t>(label));
  set.images.insert(set.images.end(), pixels.begin(), pixels.end());
  ++set.count;
}

// A dict with the array `data`, (n, 3072), and a list of n labels.
void append_pickle(const TreePath& path, const Kind& kind, ImageSet& set) {
  const Pickle pickle = read_pickle(path.read(kMostBytes), path.string());
  const PickleValue* data = pickle.root->find("data");
  const PickleValue* labels = pickle.root->find(kind.label_key);
  const bool has_images = data != nullptr && data->kind == PickleValue::Kind::array &&
                          data->array->dtype == "u1" && data->array->shape.size() == 2 &&
                          data->array->shape[1] == kPixels && data->array->shape[0] > 0;
  if (!has_images) throw bad(path, str("expected data of bytes, (n, ", kPixels, ")"));
  const std::int64_t count = data->array->shape[0];
  if (labels == nullptr || labels->kind != PickleValue::Kind::list ||
      std::ssize(labels->items) != count) {
    throw bad(path, str("expected a list of ", count, " ", kind.label_key));
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(data->array->bytes.data());
  for (std::int64_t i = 0; i < count; ++i) {
    const PickleValue& label = *labels->items[static_cast<std::size_t>(i)];
    if (label.kind != PickleValue::Kind::integer) {
      throw bad(path, str("label ", i, " is ", name_of(label.kind), ", expected an integer"));
    }
    append_image(path, kind, i, label.integer,
                 {bytes + i * kPixels, static_cast<std::size_t>(kPixels)}, set);
  }
}

void append_file(const TreePath& path, const Kind& kind, ImageSet& set) {
  if (kind.is_pickled()) return append_pickle(path, kind, set);
  Bytes bytes = path.read(kMostBytes);
  if (is_gzip(bytes)) bytes = inflate_gzip(bytes, kMostBytes, path.string());
  const std::int64_t record = kind.labels + kPixels;
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size == 0 || size % record != 0) {
    throw bad(path, str(size, " bytes, expected records of ", record, " bytes"));
  }
  for (std::int64_t at = 0; at < size; at += record) {
    const std::span<const std::uint8_t> one =
        std::span(bytes).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(record));
    const auto labels = static_cast<std::size_t>(kind.labels);
    append_image(path, kind, at / record, one[labels - 1], one.subspan(labels), set);
  }
}

ImageSet read_set(const TreePath& folder, const std::vector<std::string>& names, const Kind& kind) {
  ImageSet set{.channels = 3, .height = kSide, .width = kSide};
  for (const std::string& name : names) append_file(folder / name, kind, set);
  return set;
}

std::vector<std::string> lines_of(const TreePath& path) {
  std::vector<std::string> names;
  const Bytes bytes = path.read(1 << 16);
  std::istringstream lines(std::string(bytes.begin(), bytes.end()));
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  return names;
}

std::vector<std::string> pickled_names(const TreePath& path, std::string_view key) {
  const Pickle pickle = read_pickle(path.read(1 << 16), path.string());
  const PickleValue* list = pickle.root->find(key);
  std::vector<std::string> names;
  if (list == nullptr || list->kind != PickleValue::Kind::list) return names;
  for (const PickleValue* item : list->items) names.push_back(item->text);
  return names;
}

std::vector<std::string> class_names(const TreePath& path, const Kind& kind) {
  std::vector<std::string> names;
  if (!path.is_file()) {
    for (std::size_t i = 0; i < kind.classes; ++i) names.push_back(std::to_string(i));
    return names;
  }
  names = kind.is_pickled() ? pickled_names(path, kind.name_key) : lines_of(path);
  if (names.size() != kind.classes ||
      !std::all_of(names.begin(), names.end(), [](const auto& name) { return is_utf8(name); })) {
    throw bad(path, str(names.size(), " names, expected ", kind.classes,
                        kind.is_pickled() ? " in a list" : ", one in a line"));
  }
  return names;
}

// STL-10: pictures of 96 x 96 by columns, and labels from 1 in a file of their own.
constexpr std::int64_t kStlSide = 96;
constexpr std::int32_t kStlClasses = 10;

ImageSet read_stl(const TreePath& folder, const std::string& set_name) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  const TreePath images = folder / (set_name + "_X.bin"), labels = folder / (set_name + "_y.bin");
  ImageSet set{.channels = 3, .height = kStlSide, .width = kStlSide};
  set.images = images.read(kMost);
  const Bytes classes = labels.read(kMost);
  set.count = std::ssize(classes);
  if (set.count == 0 || std::ssize(set.images) != set.count * set.pixels()) {
    throw bad(images, str(set.images.size(), " bytes, expected ", set.pixels(), " for each of ",
                          set.count, " labels in ", labels.string()));
  }
  for (const std::uint8_t label : classes) {
    if (label < 1 || label > kStlClasses) {
      throw bad(labels, str("label ", int{label}, ", expected 1 to ", kStlClasses));
    }
    set.labels.push_back(label - 1);
  }
  transpose_images(set);
  return set;
}

std::optional<Dataset> load_stl(const TreePath& folder) {
  if (!(folder / "train_X.bin").is_file() || !(folder / "train_y.bin").is_file()) {
    return std::nullopt;
  }
  const Kind kind{{}, "", "class_names.txt", 0, kStlClasses};
  Dataset dataset;
  dataset.class_names = class_names(folder / kind.names, kind);
  dataset.train = read_stl(folder, "train");
  dataset.test = read_stl(folder, "test");
  set_statistics(dataset);
  return dataset;
}

}  // namespace

std::optional<Dataset> load_cifar(const TreePath& folder) {
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& candidate) {
    const bool may_lack_names = !candidate.is_pickled();  // "train" may be anything else
    return (folder / candidate.train.front()).is_file() &&
           (may_lack_names || (folder / candidate.names).is_file());
  });
  if (kind == std::end(kKinds)) return load_stl(folder);
  Dataset dataset;
  dataset.class_names = class_names(folder / kind->names, *kind);
  dataset.train = read_set(folder, kind->train, *kind);
  dataset.test = read_set(folder, {kind->test}, *kind);
  set_statistics(dataset);
  return dataset;
}

}  // namespace weft::data
