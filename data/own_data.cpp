// SPDX-License-Identifier: MIT
#include "data/own_data.h"

#include <algorithm>
#include <set>

#include "data/folder/layout.h"
#include "data/folder/links.h"
#include "data/sets/cifar.h"
#include "data/sets/idx.h"
#include "data/sets/mnist_files.h"
#include "data/sets/statistics.h"
#include "engine/error.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

ImageSet read_idx_set(const Located& found, FileRole images, FileRole labels) {
  const auto file = [&](FileRole role) { return found.files[static_cast<std::size_t>(role)]; };
  ImageSet set =
      join_images_and_labels(read_idx(file(images), kImageRank), read_idx(file(labels), 1), 256);
  if (set.height > kMaxDatasetSide || set.width > kMaxDatasetSide) {
    throw Error(ErrorKind::data, str(file(images).string(), ": images of ", set.height, " x ",
                                     set.width, ", expected at most ", kMaxDatasetSide, " a side"));
  }
  return set;
}

std::optional<Dataset> load_idx(const fs::path& folder) {
  const FamilyMember& names = *find_member("mnist");
  const Located found = look_in(names, folder);
  if (found.empty()) return std::nullopt;
  if (!found.complete()) {
    throw Error(ErrorKind::data, str(folder.string(), ": no ", found.first_missing(names),
                                     " (with or without .gz) beside the other IDX files"));
  }
  Dataset dataset;
  dataset.train = read_idx_set(found, FileRole::train_images, FileRole::train_labels);
  dataset.test = read_idx_set(found, FileRole::test_images, FileRole::test_labels);
  const auto sizes = [](const ImageSet& set) {
    return str(set.channels, " x ", set.height, " x ", set.width);
  };
  if (sizes(dataset.train) != sizes(dataset.test)) {
    throw Error(ErrorKind::data,
                str(folder.string(), ": training images are ", sizes(dataset.train),
                    ", but test images are ", sizes(dataset.test)));
  }
  std::int32_t largest = 0;
  for (const ImageSet* set : {&dataset.train, &dataset.test}) {
    largest = std::max(largest, *std::max_element(set->labels.begin(), set->labels.end()));
  }
  if (largest == 0) {
    throw Error(ErrorKind::data, str(folder.string(), ": every label is 0, expected 2 classes"));
  }
  const std::set<std::int32_t> trained(dataset.train.labels.begin(), dataset.train.labels.end());
  for (std::int32_t label = 0; label <= largest; ++label) {
    if (!trained.contains(label)) {
      throw Error(ErrorKind::data,
                  str(found.files[static_cast<std::size_t>(FileRole::train_labels)].string(),
                      ": no training image has label ", label, ", expected one at least of each ",
                      "class from 0 to the largest label, ", largest));
    }
    dataset.class_names.push_back(std::to_string(label));
  }
  set_statistics(dataset);
  return dataset;
}

std::optional<Dataset> load_files(const fs::path& folder) {
  std::optional<Dataset> dataset = load_idx(folder);
  return dataset ? std::move(dataset) : load_cifar(folder);
}

// "train", which has no other training set beside it; "mnist_train" alone is only a wrapping.
bool is_set_name(const std::string& folder) {
  const std::optional<SplitName> set = split_name(folder);
  return set && set->prefix.empty();
}

void check_shape(const ImageSet& set, const PictureShape& shape, const fs::path& folder) {
  if ((shape.channels == 0 || shape.channels == set.channels) &&
      (shape.height == 0 || (shape.height == set.height && shape.width == set.width))) {
    return;
  }
  throw Error(ErrorKind::usage,
              str(folder.string(), " holds images of ", set.channels, " x ", set.height, " x ",
                  set.width, ", and only pictures in folders can get another size"));
}

std::string name_of_folder(const fs::path& folder) {
  std::error_code unknown;
  const fs::path path = fs::weakly_canonical(fs::absolute(folder, unknown), unknown);
  const std::string name = path.filename().string();
  return name.empty() ? "data" : name;
}

}  // namespace

Dataset load_own_data(const fs::path& folder, const FolderOptions& options) {
  std::error_code unknown;
  if (!fs::is_directory(folder, unknown)) {
    throw Error(ErrorKind::data, str("--data: there is no folder ", folder.string()));
  }
  judge_links(folder, links_out_of(folder), options.links, options.log);
  fs::path inner = folder;
  std::optional<Dataset> dataset = load_files(inner);
  // An archive often unpacks into one folder, which holds all.
  constexpr int kMostWrappings = 8;  // a symbolic link may make them endless
  for (int i = 0; i < kMostWrappings && !dataset; ++i) {
    const std::optional<std::string> name = wrapped_folder(inner);
    if (!name || is_set_name(*name)) break;
    const std::string passed_over = passed_over_line(list_folder(inner).passed_over);
    if (options.log && !passed_over.empty()) options.log(passed_over);
    if (options.log) options.log(str("entered ", *name, "/, the only folder in ", inner.string()));
    dataset = load_files(inner /= *name);
  }
  if (!dataset) {
    dataset = load_folder(inner, options);
  } else {
    check_shape(dataset->train, options.shape, inner);
  }
  dataset->name = name_of_folder(folder);
  dataset->source = folder.string();
  dataset->fit = options.shape.fit;
  dataset->own_data = true;
  return std::move(*dataset);
}

}  // namespace weft::data
