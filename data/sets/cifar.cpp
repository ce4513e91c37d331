// SPDX-License-Identifier: MIT
#include "data/sets/cifar.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "data/files/gzip.h"
#include "data/sets/statistics.h"
#include "engine/error.h"

namespace weft::data {
namespace {

constexpr std::int64_t kSide = 32, kPixels = 3 * kSide * kSide;
constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // of a file; the largest has 154 MB

struct Kind {
  std::vector<std::string> train;
  std::string test, names;
  std::int64_t labels;  // bytes before the pixels; the last one is the class
  std::size_t classes;
};

const Kind kKinds[] = {{{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                         "data_batch_4.bin", "data_batch_5.bin"},
                        "test_batch.bin",
                        "batches.meta.txt",
                        1,
                        10},
                       {{"train.bin"}, "test.bin", "fine_label_names.txt", 2, 100}};

Error bad(const TreePath& path, const std::string& what) {
  return Error(ErrorKind::data, str(path.string(), ": ", what));
}

void append_file(const TreePath& path, const Kind& kind, ImageSet& set) {
  Bytes bytes = path.read(kMostBytes);
  if (is_gzip(bytes)) bytes = inflate_gzip(bytes, kMostBytes, path.string());
  const std::int64_t record = kind.labels + kPixels;
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size == 0 || size % record != 0) {
    throw bad(path, str(size, " bytes, expected records of ", record, " bytes"));
  }
  for (std::int64_t at = 0; at < size; at += record) {
    const std::uint8_t label = bytes[static_cast<std::size_t>(at + kind.labels - 1)];
    if (label >= kind.classes) {
      throw bad(path, str("label ", int{label}, " in record ", at / record, ", expected 0 to ",
                          kind.classes - 1));
    }
    set.labels.push_back(label);
    const auto first = bytes.begin() + at + kind.labels;
    set.images.insert(set.images.end(), first, first + kPixels);
    ++set.count;
  }
}

ImageSet read_set(const TreePath& folder, const std::vector<std::string>& names, const Kind& kind) {
  ImageSet set{.channels = 3, .height = kSide, .width = kSide};
  for (const std::string& name : names) append_file(folder / name, kind, set);
  return set;
}

std::vector<std::string> class_names(const TreePath& path, std::size_t classes) {
  std::vector<std::string> names;
  if (!path.is_file()) {
    for (std::size_t label = 0; label < classes; ++label) names.push_back(std::to_string(label));
    return names;
  }
  const Bytes bytes = path.read(1 << 16);
  std::istringstream lines(std::string(bytes.begin(), bytes.end()));
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  if (names.size() != classes) {
    throw bad(path, str(names.size(), " names, expected ", classes, ", one in a line"));
  }
  return names;
}

}  // namespace

std::optional<Dataset> load_cifar(const TreePath& folder) {
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& candidate) {
    return (folder / candidate.train.front()).is_file();
  });
  if (kind == std::end(kKinds)) return std::nullopt;
  Dataset dataset;
  dataset.class_names = class_names(folder / kind->names, kind->classes);
  dataset.train = read_set(folder, kind->train, *kind);
  dataset.test = read_set(folder, {kind->test}, *kind);
  set_statistics(dataset);
  return dataset;
}

}  // namespace weft::data
