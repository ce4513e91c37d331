// SPDX-License-Identifier: MIT
// Labels in the names of pictures, and the tree of labelled pictures.
#include "data/labels/labelled_pictures.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "data/labels/picture_labels.h"
#include "data/tables/labelled_values.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

constexpr std::string_view kLabelWord = "LABEL";

Error refusal(const std::string& where, const std::string& what) {
  return Error(ErrorKind::data, str(where, ": ", printable(what)));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Does the name fit the pattern, which has no LABEL before `label` is set? `label` gets its length.
bool fits(std::string_view name, std::string_view pattern, std::string_view& label) {
  if (pattern.empty()) return name.empty();
  if (pattern.starts_with(kLabelWord)) {
    for (std::size_t size = 1; size <= name.size(); ++size) {
      if (fits(name.substr(size), pattern.substr(kLabelWord.size()), label)) {
        label = name.substr(0, size);
        return true;
      }
    }
    return false;
  }
  if (pattern.front() == '*') {
    for (std::size_t size = 0; size <= name.size(); ++size) {
      if (fits(name.substr(size), pattern.substr(1), label)) return true;
    }
    return false;
  }
  if (pattern.front() == '#') {
    const auto end = std::find_if_not(name.begin(), name.end(), is_digit);
    const auto digits = static_cast<std::size_t>(end - name.begin());
    return digits > 0 && fits(name.substr(digits), pattern.substr(1), label);
  }
  return !name.empty() && name.front() == pattern.front() &&
         fits(name.substr(1), pattern.substr(1), label);
}

}  // namespace

// The set that the folders above a picture tell, such as train/ and test/.
std::optional<Split> set_of_folders(const std::string& path) {
  for (std::size_t at = 0, slash; (slash = path.find('/', at)) != path.npos; at = slash + 1) {
    const std::optional<SplitName> set = split_name(std::string_view(path).substr(at, slash - at));
    if (set) return set->split;
  }
  return std::nullopt;
}

PictureTree tree_of(PictureTree tree, std::vector<Labelled> pictures, Holding holding,
                    const std::string& where) {
  std::set<std::string> names;
  for (Labelled& picture : pictures) {
    picture.label = class_name(picture.label);
    if (!is_utf8(picture.label)) throw refusal(where, "a label is not UTF-8");
    if (picture.set == Split::train) names.insert(picture.label);
  }
  if (names.size() < 2 || names.size() > kMaxClasses) {
    throw refusal(where, str(names.size(), " different labels of training pictures, expected 2 to ",
                             kMaxClasses));
  }
  tree.class_names.assign(names.begin(), names.end());
  sort_classes(tree.class_names);
  std::map<std::string_view, std::int32_t> labels;
  for (std::size_t i = 0; i < tree.class_names.size(); ++i) {
    labels.emplace(tree.class_names[i], static_cast<std::int32_t>(i));
  }
  for (Labelled& picture : pictures) {
    const auto found = labels.find(picture.label);
    if (found == labels.end()) {
      throw refusal(where, str(picture.file.path, " has the label ", shown(picture.label),
                               ", which no training picture has"));
    }
    picture.file.label = found->second;
    auto& set = picture.set == Split::train  ? tree.train
                : picture.set == Split::test ? tree.test
                                             : tree.validation;
    set.push_back(std::move(picture.file));
  }
  arrange(tree, holding);
  if (tree.test.empty()) {
    throw refusal(where, "one picture in each class: expected more, of which some are held out");
  }
  return tree;
}

std::optional<std::string> label_in_name(std::string_view name, std::string_view pattern) {
  std::string_view label;
  if (!fits(name, pattern, label)) return std::nullopt;
  return std::string(label);
}

void check_label_pattern(std::string_view pattern) {
  const std::size_t at = pattern.find(kLabelWord);
  const bool has_one = at != pattern.npos && pattern.find(kLabelWord, at + 1) == pattern.npos;
  if (has_one && pattern.find('/') == pattern.npos &&
      std::count(pattern.begin(), pattern.end(), '*') <= 2)
    return;
  throw Error(ErrorKind::usage,
              str("--label-pattern: expected a pattern of file names with LABEL once and * twice ",
                  "at most, as LABEL.#.*, found ", shown(pattern)));
}

PictureTree pictures_by_pattern(const TreePath& folder, const std::string& pattern,
                                Holding holding) {
  PictureTree tree;
  std::vector<Labelled> pictures;
  std::size_t others = 0;
  std::string other;
  for (PictureFile& file : pictures_below(folder, tree)) {
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    if (std::optional<std::string> label = label_in_name(name, pattern)) {
      const Split set = set_of_folders(file.path).value_or(Split::train);
      pictures.push_back({std::move(file), std::move(*label), set});
    } else if (others++ == 0) {
      other = file.path;
    }
  }
  if (pictures.empty()) {
    throw refusal(folder.string(), other.empty() ? "no pictures in it"
                                                 : str("no name of a picture fits ", shown(pattern),
                                                       ", such as ", other));
  }
  if (others > 0) {
    tree.notes.push_back(str("passed over ", other,
                             others > 1 ? str(" and ", others - 1, " more") : "",
                             ", whose names do not fit ", shown(pattern)));
  }
  return tree_of(std::move(tree), std::move(pictures), holding, folder.string());
}

}  // namespace weft::data
