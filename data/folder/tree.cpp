// SPDX-License-Identifier: MIT
#include "data/folder/tree.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "data/folder/alike.h"
#include "data/folder/layout.h"
#include "data/picture/image.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

Error bad(const TreePath& where, const std::string& what) {
  return Error(ErrorKind::data, str(where.string(), ": ", printable(what)));
}

// FNV-1a, then the finaliser of SplitMix64 (Steele, Lea and Flood 2014), so that every bit counts.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
  return hash ^ hash >> 31;
}

// An order that depends on the names only, and has nothing to do with their alphabet.
void mix(std::vector<PictureFile>& files) {
  std::vector<std::pair<std::uint64_t, std::size_t>> keys;
  for (std::size_t i = 0; i < files.size(); ++i) keys.emplace_back(hash_of(files[i].path), i);
  std::sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    return std::pair(a.first, std::string_view(files[a.second].path)) <
           std::pair(b.first, std::string_view(files[b.second].path));
  });
  std::vector<PictureFile> mixed;
  for (const auto& key : keys) mixed.push_back(std::move(files[key.second]));
  files = std::move(mixed);
}

class Lister {
 public:
  Lister(const TreePath& root, PictureTree& tree) : root_(root), tree_(tree) {}

  // Reports what lies beside the sets of a split.
  void pass_over_others(const SplitFolders& sets) {
    const Listing listing = list(root_, "");
    const auto is_set = [&](const std::string& name) {
      return std::find(sets.begin(), sets.end(), name) != sets.end();
    };
    for (const std::string& name : listing.folders) {
      if (is_set(name)) continue;
      if (split_name(name)) {
        tree_.notes.push_back(str("passed over ", name, "/: its pictures lie in no folder of a ",
                                  "class, so that nothing says what they show"));
      } else {
        tree_.left_out.push_back(name);
      }
    }
    for (const std::string& name : listing.files) tree_.left_out.push_back(name);
  }

  // `below`, or the folder in it that alone holds all and is no class.
  std::string unwrapped(const std::string& below) {
    const std::optional<std::string> name = wrapped_folder(root_ / below);
    const auto& classes = tree_.class_names;
    if (!name || std::find(classes.begin(), classes.end(), *name) != classes.end()) return below;
    tree_.notes.push_back(str("entered ", below, "/", *name, "/, the only folder in ", below, "/"));
    return below + "/" + *name;
  }

  std::vector<PictureFile> all() {
    std::vector<PictureFile> files;
    const Listing listing = list(root_, "");
    for (const std::string& name : listing.folders) walk(name, files);
    for (const std::string& name : listing.files) add(name, files);
    return files;
  }

  // The folders in `below`, each a class with its pictures.
  std::map<std::string, std::vector<PictureFile>> classes(const std::string& below) {
    std::map<std::string, std::vector<PictureFile>> found;
    const TreePath folder = below.empty() ? root_ : root_ / below;
    const std::string before = below.empty() ? "" : below + "/";
    const Listing listing = list(folder, before);
    for (const std::string& name : listing.files) tree_.left_out.push_back(before + name);
    const bool are_few = listing.folders.size() <= kMaxClasses + 1;  // more are refused below
    const std::string again = are_few ? repeated_folder(folder, listing.folders) : "";
    if (!again.empty()) {
      tree_.notes.push_back(
          str("passed over ", before, again, "/, which holds the folders beside it once more"));
    }
    for (const std::string& name : listing.folders) {
      if (name == again) continue;
      if (!is_utf8(name)) throw bad(folder / name, "the name of a class is not UTF-8");
      if (found.size() == kMaxClasses) {
        throw bad(folder, str("more than ", kMaxClasses, " folders, expected one for each class"));
      }
      entered_.clear();
      walk(before + name, found[name]);
    }
    return found;
  }

 private:
  Listing list(const TreePath& folder, const std::string& before) {
    Listing listing = list_folder(folder);
    for (const std::string& name : listing.passed_over) tree_.passed_over.push_back(before + name);
    return listing;
  }

  void walk(const std::string& below, std::vector<PictureFile>& files) {
    const FileStatus status = (root_ / below).status();
    if (!status.problem.empty()) {
      throw bad(root_ / below, "cannot be listed: " + status.problem);
    }
    const bool is_on_disk = status.identity != std::pair<dev_t, ino_t>();
    if (is_on_disk && !entered_.insert(status.identity).second) return;  // by a symbolic link
    const Listing listing = list(root_ / below, below + "/");
    for (const std::string& name : listing.folders) walk(below + "/" + name, files);
    for (const std::string& name : listing.files) add(below + "/" + name, files);
  }

  void add(const std::string& path, std::vector<PictureFile>& files) {
    if (!has_picture_ending(path)) {
      tree_.left_out.push_back(path);
      return;
    }
    const FileStatus status = (root_ / path).status();
    PictureFile file{path, 0, status.bytes, status.modified, ""};
    if (!status.problem.empty()) {
      file.problem = str((root_ / path).string(), ": cannot be opened (", status.problem, ")");
    } else if (status.kind != FileStatus::Kind::file) {
      file.problem = str((root_ / path).string(), ": expected a regular file");
    }
    files.push_back(std::move(file));
  }

  const TreePath& root_;
  PictureTree& tree_;
  std::set<std::pair<dev_t, ino_t>> entered_;
};

using Classes = std::map<std::string, std::vector<PictureFile>>;

void name_classes(const Classes& classes, const TreePath& where, PictureTree& tree) {
  if (classes.empty()) throw bad(where, "no folders in it, expected one for each class");
  const auto has_files = [](const auto& of) { return !of.second.empty(); };
  const auto count = std::count_if(classes.begin(), classes.end(), has_files);
  constexpr std::string_view kExpected =
      ": expected a folder for each of at least 2 classes, a table of labels, or --label-pattern "
      "for "
      "labels in the names of pictures";
  if (classes.size() == 1) {
    throw bad(where, str("one class only, ", classes.begin()->first, kExpected));
  }
  if (count == 1) {
    const auto only = std::find_if(classes.begin(), classes.end(), has_files);
    const auto empty = std::find_if_not(classes.begin(), classes.end(), has_files);
    throw bad(where / empty->first,
              str("no pictures in it, which leaves one class, ", only->first, kExpected));
  }
  const auto unread =
      std::find_if(tree.left_out.begin(), tree.left_out.end(),
                   [](const std::string& file) { return has_ending_of_unread_picture(file); });
  if (count == 0 && unread != tree.left_out.end()) {
    throw bad(where / *unread, "a picture of a format that is not read: save it as JPEG or PNG");
  }
  if (count == 0 && classes.size() > 1) {
    throw bad(where, str("no pictures below it, and no data that is read; its folders are ",
                         classes.begin()->first, "/ and ", classes.size() - 1,
                         " more: --data with one of them says where the data lie"));
  }
  for (const auto& [name, files] : classes) {
    if (files.empty()) throw bad(where / name, "no pictures in this folder of a class");
    tree.class_names.push_back(name);
  }
}

// `training` is the folder that the classes were found in.
std::int32_t label_of(const std::string& name, const PictureTree& tree, const TreePath& where,
                      const std::string& training) {
  const auto found = std::lower_bound(tree.class_names.begin(), tree.class_names.end(), name);
  if (found == tree.class_names.end() || *found != name) {
    throw bad(where / name, str("there is no class ", name, " in ", training, "/"));
  }
  return static_cast<std::int32_t>(found - tree.class_names.begin());
}

std::vector<PictureFile> joined(Classes classes, const PictureTree& tree, const TreePath& where,
                                const std::string& training) {
  std::vector<PictureFile> all;
  for (auto& [name, files] : classes) {
    const std::int32_t label = label_of(name, tree, where, training);
    for (PictureFile& file : files) {
      file.label = label;
      all.push_back(std::move(file));
    }
  }
  if (all.empty()) throw bad(where, "no pictures in it");
  mix(all);
  return all;
}

// What each class holds: CLASS/images/ and CLASS/masks/, of which masks are left out, or folders
// that may be anything, with a note.
void judge_folders_in_classes(Classes& classes, const std::vector<std::string>& inner,
                              const std::string& before, PictureTree& tree) {
  const auto is_below = [&](const PictureFile& file, const std::string& name) {
    const std::size_t begin = file.path.find('/', before.size()) + 1;
    return file.path.compare(begin, name.size() + 1, name + "/") == 0;
  };
  const auto masks = std::find_if(inner.begin(), inner.end(), names_masks);
  if (masks != inner.end() && !std::all_of(inner.begin(), inner.end(), names_masks)) {
    for (auto& [name, files] : classes) {
      std::erase_if(files, [&](const PictureFile& file) { return is_below(file, *masks); });
    }
    tree.notes.push_back(str("passed over ", *masks, "/ in each class, which holds masks"));
  } else {
    tree.notes.push_back(str("each class holds the same folders, ", inner.front(), "/ and ",
                             inner.back(), "/: all pictures in them are of this class"));
  }
}

// Where each class holds sets, as cat/train/ and cat/test/, its pictures go to these.
bool deal_sets_in_classes(PictureTree& tree, const std::vector<std::string>& inner) {
  std::set<Split> sets;
  for (const std::string& name : inner) {
    if (const std::optional<SplitName> set = split_name(name)) sets.insert(set->split);
  }
  if (sets.size() < 2 || !sets.contains(Split::train)) return false;
  std::vector<PictureFile> all = std::exchange(tree.train, {});
  for (PictureFile& file : all) {
    const std::size_t begin = file.path.find('/') + 1;
    const std::optional<SplitName> set =
        split_name(file.path.substr(begin, file.path.find('/', begin) - begin));
    const Split of = set ? set->split : Split::train;
    auto& to = of == Split::train ? tree.train : of == Split::test ? tree.test : tree.validation;
    to.push_back(std::move(file));
  }
  tree.notes.push_back(str("the sets lie in the classes, as ", tree.class_names.front(), "/",
                           inner.front(), "/ and ", tree.class_names.front(), "/", inner.back(),
                           "/"));
  return true;
}

// A tenth of each class, and one at least where there are two.
void hold_out(PictureTree& tree) {
  std::vector<std::size_t> pictures(tree.class_names.size()), held(tree.class_names.size());
  for (const PictureFile& file : tree.train) ++pictures[static_cast<std::size_t>(file.label)];
  std::vector<PictureFile> kept;
  for (PictureFile& file : tree.train) {
    const auto label = static_cast<std::size_t>(file.label);
    const std::size_t wanted =
        pictures[label] < 2 ? 0 : std::max<std::size_t>(1, (pictures[label] + 5) / 10);
    const bool tests = held[label] < wanted;
    held[label] += tests;
    (tests ? tree.test : kept).push_back(std::move(file));
  }
  tree.train = std::move(kept);
  tree.held_out = true;
}

}  // namespace

std::vector<PictureFile> pictures_below(const TreePath& folder, PictureTree& tree) {
  return Lister(folder, tree).all();
}

void arrange(PictureTree& tree, Holding holding) {
  for (auto* set : {&tree.train, &tree.validation, &tree.test}) mix(*set);
  if (tree.test.empty()) tree.test = std::exchange(tree.validation, {});
  if (!tree.test.empty()) return;
  if (holding == Holding::nothing) {
    tree.test = std::exchange(tree.train, {});
  } else {
    hold_out(tree);
  }
}

PictureTree list_pictures(const TreePath& folder, Holding holding) {
  PictureTree tree;
  Lister lister(folder, tree);
  const std::optional<SplitFolders> split = find_split(folder, tree.notes);
  const auto name_of = [&](Split set) {
    return split ? (*split)[static_cast<std::size_t>(set)] : std::string();
  };
  if (split) lister.pass_over_others(*split);
  const std::string below = split ? lister.unwrapped(name_of(Split::train)) : "";
  const TreePath where = split ? folder / below : folder;
  Classes training = lister.classes(below);
  std::vector<std::string> names;
  for (const auto& [name, files] : training) names.push_back(name);
  const std::vector<std::string> inner = folders_in_each(where, names);
  if (const std::string why = why_no_classes(names, !inner.empty()); !why.empty()) {
    throw bad(where, why);
  }
  const bool holds_sets = !sets_in_classes_line(where, names).empty();
  if (!inner.empty() && !holds_sets) {
    judge_folders_in_classes(training, inner, below.empty() ? "" : below + "/", tree);
  }
  name_classes(training, where, tree);
  tree.train = joined(std::move(training), tree, where, below);
  const bool is_dealt = !split && holds_sets && deal_sets_in_classes(tree, inner);
  if (holds_sets && !is_dealt) {
    tree.notes.push_back(sets_in_classes_line(where, tree.class_names));
  }
  if (is_dealt) {
    if (tree.test.empty()) tree.test = std::exchange(tree.validation, {});
    return tree;
  }
  if (!split && holding == Holding::nothing) {
    tree.test = std::exchange(tree.train, {});
    return tree;
  }
  const auto set_in = [&](Split set) -> std::vector<PictureFile> {
    if (name_of(set).empty()) return {};
    const std::string path = lister.unwrapped(name_of(set));
    return joined(lister.classes(path), tree, folder / path, below);
  };
  tree.validation = set_in(Split::validation);
  tree.test = set_in(Split::test);
  if (tree.test.empty()) tree.test = std::exchange(tree.validation, {});
  if (tree.test.empty()) hold_out(tree);
  if (tree.test.empty()) {
    throw bad(where, "one picture in each class: expected more, of which some are held out");
  }
  return tree;
}

}  // namespace weft::data
