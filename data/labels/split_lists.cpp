// SPDX-License-Identifier: MIT
#include "data/labels/split_lists.h"

#include <algorithm>
#include <map>
#include <utility>

#include "data/files/counted.h"
#include "data/folder/layout.h"
#include "data/labels/label_table.h"
#include "data/labels/labelled_pictures.h"
#include "data/labels/picture_index.h"
#include "engine/error.h"

namespace weft::data {
namespace {

constexpr std::size_t kMostLists = 100;
constexpr std::size_t kMostListBytes = std::size_t{256} << 20;

struct List {
  std::string name;  // "meta/train.txt"
  Bytes bytes = {};
  std::vector<LabelRow> rows = {};

  std::string_view file() const { return std::string_view(name).substr(name.rfind('/') + 1); }
};

std::optional<List> read_list(const TreePath& folder, const std::string& name) {
  const TreePath path = folder / name;
  if (path.status().bytes > kMostListBytes) return std::nullopt;
  List list{.name = name, .bytes = path.read(kMostListBytes)};
  const std::string_view text(reinterpret_cast<const char*>(list.bytes.data()), list.bytes.size());
  list.rows = label_rows(text, text.size());
  return list;
}

std::optional<Split> set_of_list(std::string_view file) {
  for (const std::string& word : words_of(file)) {
    if (const std::optional<Split> set = split_of(word)) return set;
  }
  return std::nullopt;
}

class SplitLists {
 public:
  SplitLists(const std::vector<PictureFile>& files) : index_(files), sets_(files.size()) {}

  // False when a line of the list names no picture.
  bool take(const List& list, Split set) {
    for (const LabelRow& row : list.rows) {
      if (row.fields.empty() || !put(row.fields.front(), set)) return false;
    }
    return true;
  }

  bool take_numbers(const List& images, const List& split) {
    std::map<std::string_view, std::string_view> paths;
    for (const LabelRow& row : images.rows) {
      if (row.fields.size() != 2) return false;
      paths.emplace(row.fields[0], row.fields[1]);
    }
    for (const LabelRow& row : split.rows) {
      const auto found = row.fields.size() == 2 ? paths.find(row.fields[0]) : paths.end();
      if (found == paths.end()) return false;
      if (!put(found->second, row.fields[1] == "1" ? Split::train : Split::test)) return false;
    }
    return true;
  }

  bool tells_two_sets() const {
    const auto has = [&](bool trains) {
      return std::any_of(sets_.begin(), sets_.end(), [&](const std::optional<Split>& set) {
        return set && (*set == Split::train) == trains;
      });
    };
    return has(true) && has(false);
  }

  std::vector<Labelled> labelled() const {
    std::vector<Labelled> pictures;
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      const PictureFile& file = index_.files()[i];
      const std::size_t end = file.path.rfind('/');
      if (!sets_[i] || end == file.path.npos) continue;
      const std::size_t begin = end == 0 ? 0 : file.path.rfind('/', end - 1) + 1;
      pictures.push_back({file, file.path.substr(begin, end - begin), *sets_[i]});
    }
    return pictures;
  }

 private:
  bool put(std::string_view path, Split set) {
    const std::vector<std::size_t> found = index_.find(path, std::nullopt);
    if (found.size() != 1) return false;
    sets_[found.front()] = set;
    return true;
  }

  PictureIndex index_;
  std::vector<std::optional<Split>> sets_;  // at each picture
};

}  // namespace

std::optional<PictureTree> pictures_by_split_lists(const TreePath& folder,
                                                   const std::vector<PictureFile>& files,
                                                   const std::vector<std::string>& lists,
                                                   const PictureTree& tree,
                                                   const FolderOptions& options) {
  if (lists.empty() || lists.size() > kMostLists) return std::nullopt;
  SplitLists sets(files);
  std::optional<List> images, numbers;
  std::string found;
  for (const std::string& name : lists) {
    const std::string_view file = std::string_view(name).substr(name.rfind('/') + 1);
    const bool has_numbers = file == "images.txt" || file == "train_test_split.txt";
    const std::optional<Split> set = set_of_list(file);
    if (!has_numbers && !set) continue;
    std::optional<List> list = read_list(folder, name);
    if (!list || list->rows.empty()) continue;
    if (has_numbers) {
      (file == "images.txt" ? images : numbers) = std::move(list);
      continue;
    }
    if (sets.take(*list, *set)) found += (found.empty() ? "" : " and ") + name;
  }
  if (images && numbers && sets.take_numbers(*images, *numbers)) found = numbers->name;
  if (found.empty() || !sets.tells_two_sets()) return std::nullopt;
  std::vector<Labelled> pictures = sets.labelled();
  if (options.log) {
    options.log("the sets are told by " + found);
    if (pictures.size() < files.size()) {
      options.log(str("passed over ", counted(files.size() - pictures.size(), "picture"),
                      " in none of them"));
    }
  }
  return tree_of(tree, std::move(pictures), options.holding, folder.string());
}

}  // namespace weft::data
