// SPDX-License-Identifier: MIT
#include "data/folder/tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "data/image.h"
#include "engine/error.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kTrain = "train", kTest = "test", kValidation = "val";

Error bad(const fs::path& where, const std::string& what) {
  return Error(ErrorKind::data, str(where.string(), ": ", what));
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80             ? 1
                               : (lead & 0xe0) == 0xc0 ? 2
                               : (lead & 0xf0) == 0xe0 ? 3
                               : (lead & 0xf8) == 0xf0 ? 4
                                                       : 0;
    if (length == 0 || at + length > text.size()) return false;
    std::uint32_t value = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if ((next & 0xc0) != 0x80) return false;
      value = value << 6 | (next & 0x3fu);
    }
    constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < kLeast[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
      return false;
    }
    at += length;
  }
  return true;
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

// Names in a folder in byte order, without hidden ones.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.')) names.push_back(name);
  }
  if (code) throw bad(folder, "cannot be listed: " + code.message());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_folder(const fs::path& path) {
  std::error_code unknown;
  return fs::is_directory(path, unknown);
}

bool holds_folders(const fs::path& path) {
  if (!is_folder(path)) return false;
  const std::vector<std::string> names = names_in(path);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return is_folder(path / name); });
}

class Lister {
 public:
  Lister(const fs::path& root, PictureTree& tree) : root_(root), tree_(tree) {}

  // The folders in `below`, each a class with its pictures.
  std::map<std::string, std::vector<PictureFile>> classes(const std::string& below) {
    std::map<std::string, std::vector<PictureFile>> found;
    const fs::path folder = below.empty() ? root_ : root_ / below;
    for (const std::string& name : names_in(folder)) {
      const std::string path = below.empty() ? name : below + "/" + name;
      if (!is_folder(folder / name)) {
        tree_.left_out.push_back(path);
        continue;
      }
      if (!is_utf8(name)) throw bad(folder / name, "the name of a class is not UTF-8");
      if (found.size() == kMaxClasses) {
        throw bad(folder, str("more than ", kMaxClasses, " folders, expected one for each class"));
      }
      entered_.clear();
      walk(path, found[name]);
    }
    return found;
  }

 private:
  void walk(const std::string& below, std::vector<PictureFile>& files) {
    struct stat status {};
    if (::stat((root_ / below).c_str(), &status) != 0) {
      throw bad(root_ / below, str("cannot be listed: ", std::strerror(errno)));
    }
    if (!entered_.emplace(status.st_dev, status.st_ino).second) return;  // by a symbolic link
    for (const std::string& name : names_in(root_ / below)) add(below + "/" + name, files);
  }

  void add(const std::string& path, std::vector<PictureFile>& files) {
    struct stat status {};
    const int code = ::stat((root_ / path).c_str(), &status) == 0 ? 0 : errno;
    if (code == 0 && S_ISDIR(status.st_mode)) return walk(path, files);
    if (!has_picture_ending(path)) {
      tree_.left_out.push_back(path);
      return;
    }
    PictureFile file{path, 0, static_cast<std::uint64_t>(status.st_size),
                     std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
                     ""};
    if (code != 0) {
      file.problem = str((root_ / path).string(), ": cannot be opened (", std::strerror(code), ")");
    } else if (!S_ISREG(status.st_mode)) {
      file.problem = str((root_ / path).string(), ": expected a regular file");
    }
    files.push_back(std::move(file));
  }

  const fs::path& root_;
  PictureTree& tree_;
  std::set<std::pair<dev_t, ino_t>> entered_;
};

using Classes = std::map<std::string, std::vector<PictureFile>>;

void name_classes(const Classes& classes, const fs::path& where, PictureTree& tree) {
  if (classes.empty()) throw bad(where, "no folders in it, expected one for each class");
  if (classes.size() == 1) {
    throw bad(where, str("one class only, ", classes.begin()->first,
                         ": expected a folder for each of at least 2 classes"));
  }
  for (const auto& [name, files] : classes) {
    if (files.empty()) throw bad(where / name, "no pictures in this folder of a class");
    tree.class_names.push_back(name);
  }
}

std::int32_t label_of(const std::string& name, const PictureTree& tree, const fs::path& where) {
  const auto found = std::lower_bound(tree.class_names.begin(), tree.class_names.end(), name);
  if (found == tree.class_names.end() || *found != name) {
    throw bad(where / name, str("there is no class ", name, " in ", kTrain, "/"));
  }
  return static_cast<std::int32_t>(found - tree.class_names.begin());
}

std::vector<PictureFile> joined(Classes classes, const PictureTree& tree, const fs::path& where) {
  std::vector<PictureFile> all;
  for (auto& [name, files] : classes) {
    const std::int32_t label = label_of(name, tree, where);
    for (PictureFile& file : files) {
      file.label = label;
      all.push_back(std::move(file));
    }
  }
  if (all.empty()) throw bad(where, "no pictures in it");
  mix(all);
  return all;
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

PictureTree list_pictures(const fs::path& folder, Holding holding) {
  PictureTree tree;
  Lister lister(folder, tree);
  const bool is_split = holds_folders(folder / kTrain);
  const bool has_test = holds_folders(folder / kTest);
  const bool has_validation = holds_folders(folder / kValidation);
  if (!is_split && (has_test || has_validation)) {
    throw bad(folder, str("holds ", has_test ? kTest : kValidation, "/ with folders, but no ",
                          kTrain, "/ with a folder for each class"));
  }
  const std::string below = is_split ? std::string(kTrain) : "";
  const fs::path where = is_split ? folder / below : folder;
  Classes training = lister.classes(below);
  name_classes(training, where, tree);
  tree.train = joined(std::move(training), tree, where);
  if (!is_split && holding == Holding::nothing) {
    tree.test = std::exchange(tree.train, {});
    return tree;
  }
  if (is_split) {
    for (const std::string& name : names_in(folder)) {
      if (name != kTrain && name != kTest && name != kValidation) tree.left_out.push_back(name);
    }
  }
  const auto set_in = [&](std::string_view name) {
    return joined(lister.classes(std::string(name)), tree, folder / name);
  };
  if (has_validation) tree.validation = set_in(kValidation);
  if (has_test) tree.test = set_in(kTest);
  if (!has_test) tree.test = std::exchange(tree.validation, {});
  if (tree.test.empty()) hold_out(tree);
  if (tree.test.empty()) {
    throw bad(where, "one picture in each class: expected more, of which some are held out");
  }
  return tree;
}

}  // namespace weft::data
