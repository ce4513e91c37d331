// SPDX-License-Identifier: MIT
// Finds pictures by what a field of a table says of them. Internal to picture_labels.h.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/folder/tree.h"
#include "data/labels/labelled_pictures.h"
#include "data/picture/image.h"

namespace weft::data {

// The pictures below a folder, by any end of their paths.
class PictureIndex {
 public:
  explicit PictureIndex(std::vector<PictureFile> files) : files_(std::move(files)) {
    for (std::size_t i = 0; i < files_.size(); ++i) by_stem_.emplace(stem(files_[i].path), i);
  }

  const std::vector<PictureFile>& files() const { return files_; }

  // The places of the pictures that a field names. `set` tells those of one name in several sets
  // apart.
  std::vector<std::size_t> find(std::string_view name, std::optional<Split> set) const {
    const std::string path = cleaned(name);
    std::vector<std::size_t> found, of_set;
    const auto [begin, end] = by_stem_.equal_range(stem(path));
    for (auto at = begin; at != end; ++at) {
      const std::string& file = files_[at->second].path;
      if (!ends_alike(file, path)) continue;
      found.push_back(at->second);
      if (set && set_of_folders(file) == set) of_set.push_back(at->second);
    }
    return of_set.empty() ? found : of_set;
  }

 private:
  static std::string cleaned(std::string_view name) {
    std::string path(name);
    std::replace(path.begin(), path.end(), '\\', '/');
    while (path.starts_with("./")) path.erase(0, 2);
    return path;
  }
  static std::string without_ending(const std::string& path) {
    return has_picture_ending(path) ? path.substr(0, path.rfind('.')) : path;
  }
  static std::string stem(const std::string& path) {
    return without_ending(path.substr(path.rfind('/') + 1));
  }
  // Is one of the paths the end of the other one, by whole names? A missing ending is none.
  static bool ends_alike(const std::string& file, const std::string& name) {
    const std::string a = "/" + (has_picture_ending(name) ? file : without_ending(file));
    const std::string b = (name.starts_with('/') ? "" : "/") + name;
    return a.ends_with(b) || b.ends_with(a);
  }

  std::vector<PictureFile> files_;
  std::unordered_multimap<std::string, std::size_t> by_stem_;
};

}  // namespace weft::data
