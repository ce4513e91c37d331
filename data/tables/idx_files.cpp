// SPDX-License-Identifier: MIT
#include "data/tables/idx_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "data/files/gzip.h"
#include "data/folder/folder.h"
#include "data/folder/layout.h"
#include "data/sets/idx.h"
#include "data/sets/statistics.h"
#include "data/tables/emnist.h"
#include "engine/error.h"

namespace weft::data {
namespace {

Error bad(const TreePath& path, const std::string& what) {
  return Error(ErrorKind::data, str(path.string(), ": ", what));
}

struct IdxName {
  std::string prefix;  // "emnist letters "
  bool tests = false, labels = false;
};

// Nothing when it is no IDX file of a known role. With `needs_idx` false its name says this of any
// file.
std::optional<IdxName> name_of(const std::string& file, bool needs_idx = true) {
  std::optional<bool> tests, labels;
  bool is_idx = false;
  IdxName name;
  for (const std::string& word : words_of(file)) {
    if (word == "idx1" || word == "idx2" || word == "idx3" || word == "idx4") {
      is_idx = true;
    } else if (word == "t10k" || word == "train" || word == "test") {
      tests = word != "train";
    } else if (word == "images" || word == "labels") {
      labels = word == "labels";
    } else if (word != "ubyte" && word != "int" && word != "float" && word != "gz") {
      name.prefix += word + " ";
    }
  }
  if ((needs_idx && !is_idx) || !tests || !labels) return std::nullopt;
  name.tests = *tests;
  name.labels = *labels;
  return name;
}

// A set has four: training images, training labels, test images, test labels.
using Files = std::array<std::string, 4>;
constexpr std::array<std::string_view, 4> kFiles = {
    "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte"};

// The first bytes of an IDX file of bytes or 32-bit numbers.
bool has_idx_magic(const TreePath& path) {
  if (path.status().bytes > kMaxIdxBytes) return false;
  Bytes bytes = path.read(kMaxIdxBytes);
  if (is_gzip(bytes)) bytes = inflate_gzip_front(bytes, 4, path.string());
  return bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 &&
         (bytes[2] == 0x08 || bytes[2] == 0x0c) && bytes[3] >= 1 && bytes[3] <= 4;
}

class SetsOfFiles {
 public:
  void add(const IdxName& name, const std::string& path) {
    std::string& place = sets_[name.prefix][2 * std::size_t{name.tests} + name.labels];
    const bool is_unpacked = !path.ends_with(".gz");  // beside its .gz it is the one to read
    if (place.empty() || is_unpacked) place = path;
  }
  bool empty() const { return sets_.empty(); }
  std::map<std::string, Files> take() { return std::move(sets_); }

 private:
  std::map<std::string, Files> sets_;
};

// Where none is in the folder: those in folders of their names, as some programs unpack them, and
// files whose names say the same without idx, as train_images.
std::map<std::string, Files> files_in(const TreePath& folder) {
  SetsOfFiles sets;
  const Listing listing = list_folder(folder);
  for (const std::string& file : listing.files) {
    if (const std::optional<IdxName> name = name_of(file)) sets.add(*name, file);
  }
  if (!sets.empty()) return sets.take();
  for (const std::string& below : listing.folders) {
    if (!name_of(below)) continue;
    for (const std::string& file : list_folder(folder / below).files) {
      if (const std::optional<IdxName> name = name_of(file)) sets.add(*name, below + "/" + file);
    }
  }
  if (!sets.empty()) return sets.take();
  for (const std::string& file : listing.files) {
    const std::optional<IdxName> name = name_of(file, false);
    const bool has_ending = file.find('.') != file.npos && !file.ends_with(".gz");
    if (name && !has_ending && has_idx_magic(folder / file)) sets.add(*name, file);
  }
  return sets.take();
}

ImageSet read_set(const TreePath& images, const TreePath& labels) {
  ImageSet set = join_images_and_labels(read_idx(images, kImageRank), read_idx_labels(labels), 256);
  if (set.height > kMaxDatasetSide || set.width > kMaxDatasetSide) {
    throw bad(images, str("images of ", set.height, " x ", set.width, ", expected at most ",
                          kMaxDatasetSide, " a side"));
  }
  return set;
}

// The labels become 0, 1, 2, ... where a set begins at 1.
void name_classes(Dataset& dataset, const std::string& prefix, const TreePath& folder,
                  const std::string& labels) {
  std::int32_t largest = 0, least = 255;
  for (const ImageSet* set : {&dataset.train, &dataset.test}) {
    const auto [low, high] = std::minmax_element(set->labels.begin(), set->labels.end());
    largest = std::max(largest, *high);
    least = std::min(least, *low);
  }
  const std::int32_t first = is_emnist(prefix) ? std::min(least, 1) : 0;
  if (largest == first) {
    throw bad(folder, str("every label is ", largest, ", expected 2 classes"));
  }
  const std::set<std::int32_t> trained(dataset.train.labels.begin(), dataset.train.labels.end());
  for (std::int32_t label = first; label <= largest; ++label) {
    if (!trained.contains(label)) {
      throw bad(folder / labels,
                str("no training image has label ", label, ", expected one at least of ",
                    "each class from ", first, " to the largest label, ", largest));
    }
    dataset.class_names.push_back(emnist_class(prefix, std::to_string(label)));
  }
  for (ImageSet* set : {&dataset.train, &dataset.test}) {
    for (std::int32_t& label : set->labels) label -= first;
  }
}

std::pair<std::string, Files> choose(const TreePath& folder, const std::string& file,
                                     const std::map<std::string, Files>& sets) {
  if (sets.size() == 1) return *sets.begin();
  const std::optional<IdxName> asked = name_of(file, false);
  const auto found = asked ? sets.find(asked->prefix) : sets.end();
  if (found != sets.end()) return *found;
  std::string names;
  for (const auto& [prefix, files] : sets) {
    const auto first = std::find_if(files.begin(), files.end(),
                                    [](const std::string& name) { return !name.empty(); });
    names += str(names.empty() ? "" : ", ", *first);
  }
  throw bad(folder, str("IDX files of several sets (", names, "): --data with one of these files ",
                        "chooses its set"));
}

}  // namespace

bool is_idx_name(const std::string& file) {
  return name_of(file).has_value();
}

std::optional<Dataset> load_idx_files(const TreePath& folder, const std::string& file) {
  const std::map<std::string, Files> sets = files_in(folder);
  if (sets.empty()) return std::nullopt;
  const auto [prefix, files] = choose(folder, file, sets);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty()) {
      throw bad(folder, str("no ", prefix.empty() ? "" : str(prefix, "... "), kFiles[i],
                            " (with or without .gz) beside the other IDX files"));
    }
  }
  Dataset dataset;
  dataset.train = read_set(folder / files[0], folder / files[1]);
  dataset.test = read_set(folder / files[2], folder / files[3]);
  const auto sizes = [](const ImageSet& set) {
    return str(set.channels, " x ", set.height, " x ", set.width);
  };
  if (sizes(dataset.train) != sizes(dataset.test)) {
    throw bad(folder, str("training images are ", sizes(dataset.train), ", but test images are ",
                          sizes(dataset.test)));
  }
  if (is_emnist(prefix)) {
    transpose_images(dataset.train);
    transpose_images(dataset.test);
  }
  name_classes(dataset, prefix, folder, files[1]);
  set_statistics(dataset);
  return dataset;
}

}  // namespace weft::data
