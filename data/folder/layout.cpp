// SPDX-License-Identifier: MIT
#include "data/folder/layout.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "data/picture/image.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

struct SplitWord {
  std::string_view word;
  Split split;
};

constexpr SplitWord kSplitWords[] = {
    {"trainval", Split::train},   {"train", Split::train},
    {"training", Split::train},   {"test", Split::test},
    {"testing", Split::test},     {"eval", Split::test},
    {"evaluation", Split::test},  {"val", Split::validation},
    {"valid", Split::validation}, {"validation", Split::validation},
    {"dev", Split::validation}};

// What may follow such a word: train_images, testSet.
constexpr std::string_view kContents[] = {
    "set", "sets", "data",    "dataset",  "datasets", "image",  "images", "img",   "imgs",
    "pic", "pics", "picture", "pictures", "photo",    "photos", "folder", "split", "samples"};

template <class List>
bool holds(const List& list, std::string_view value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

enum class Content { neither, pictures, folders };

// A folder test/ that holds test/1.png alone has pictures: its inner folder test/ is no class.
Content content_of(const TreePath& folder) {
  const Listing listing = list_folder(folder);
  if (listing.folders.empty()) {
    return has_pictures(listing) ? Content::pictures : Content::neither;
  }
  const std::string& first = listing.folders.front();
  const bool is_wrapping = listing.folders.size() == 1 && split_name(first).has_value();
  if (!is_wrapping) return Content::folders;
  const Listing inner = list_folder(folder / first);
  return inner.folders.empty() && has_pictures(inner) ? Content::pictures : Content::folders;
}

struct Candidate {
  std::string name;
  Split split;
  Content content;
};
using Candidates = std::vector<Candidate>;

template <class Is>
bool any(const Candidates& candidates, Is is) {
  return std::any_of(candidates.begin(), candidates.end(), is);
}

bool trains_on_folders(const Candidate& folder) {
  return folder.split == Split::train && folder.content == Content::folders;
}

bool has_two_sets(const Candidates& candidates) {
  return any(candidates,
             [&](const Candidate& folder) { return folder.split != candidates.front().split; });
}

Error bad(const TreePath& where, const std::string& what) {
  return Error(ErrorKind::data, str(where.string(), ": ", printable(what)));
}

SplitFolders folders_of(const TreePath& root, const Candidates& sets) {
  constexpr std::string_view kWhat[] = {"training", "validation", "test"};
  SplitFolders result;
  for (const Candidate& folder : sets) {
    if (folder.content != Content::folders) continue;
    const auto at = static_cast<std::size_t>(folder.split);
    if (!result[at].empty()) {
      throw bad(root, str(result[at], "/ and ", folder.name, "/ are both the ", kWhat[at],
                          " set by their names: expected one of them"));
    }
    result[at] = folder.name;
  }
  return result;
}

// Are all folders in `folder` named as folders in `neighbours` are?
bool has_the_classes_of(const TreePath& folder, const std::vector<std::string>& neighbours) {
  const std::vector<std::string> classes = list_folder(folder).folders;
  return std::includes(neighbours.begin(), neighbours.end(), classes.begin(), classes.end());
}

// `sets` have no training set with folders. `is_all`: they alone hold pictures in the root.
void refuse_without_training(const TreePath& root, const Candidates& sets, bool is_all,
                             const std::vector<std::string>& in_root) {
  const auto has_folders = [](const Candidate& folder) {
    return folder.content == Content::folders;
  };
  Candidates with_folders;
  std::copy_if(sets.begin(), sets.end(), std::back_inserter(with_folders), has_folders);
  for (const Candidate& folder : with_folders) {
    const bool is_plain = folder.name == "test" || folder.name == "val";
    if (is_all || is_plain || has_two_sets(with_folders) ||
        has_the_classes_of(root / folder.name, in_root)) {
      throw bad(root, str("holds ", folder.name,
                          "/ with folders, but no train/ with a folder for each class"));
    }
  }
  if (is_all && has_two_sets(sets)) {
    throw bad(root, str(sets.front().name, "/ and ", sets.back().name,
                        "/ look like a split, but hold no folders: expected one for each class"));
  }
}

}  // namespace

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool begins = true;
  char before = ' ';
  for (const char c : name) {
    const bool separates = c == '_' || c == '-' || c == ' ' || c == '.';
    const auto is = [](int (*kind)(int), char of) {
      return kind(static_cast<unsigned char>(of)) != 0;
    };
    if (separates || (is(std::islower, before) && is(std::isupper, c))) begins = true;
    before = c;
    if (separates) continue;
    if (begins) words.emplace_back();
    begins = false;
    words.back() += c;
  }
  for (std::string& word : words) word = in_small_letters(word);
  return words;
}

std::optional<Split> split_of(std::string_view word) {
  while (!word.empty() && is_digit(word.back())) word.remove_suffix(1);
  for (const auto& [name, split] : kSplitWords) {
    if (!word.starts_with(name)) continue;
    const std::string_view rest = word.substr(name.size());
    if (rest.empty() || holds(kContents, rest)) return split;
  }
  return std::nullopt;
}

bool has_pictures(const Listing& listing) {
  return std::any_of(listing.files.begin(), listing.files.end(),
                     [](const std::string& name) { return has_picture_ending(name); });
}

std::optional<SplitName> split_name(std::string_view folder) {
  std::vector<std::string> words = words_of(folder);
  const auto is_content = [](const std::string& word) {
    return holds(kContents, word) || std::all_of(word.begin(), word.end(), is_digit);
  };
  while (words.size() > 1 && is_content(words.back())) words.pop_back();
  if (words.empty()) return std::nullopt;
  const std::optional<Split> split = split_of(words.back());
  if (!split) return std::nullopt;
  words.pop_back();
  std::string prefix;
  for (const std::string& word : words) prefix += word + " ";
  return SplitName{*split, prefix};
}

std::optional<SplitFolders> find_split(const TreePath& root, std::vector<std::string>& notes) {
  std::map<std::string, Candidates> by_prefix;  // the plain names come first
  std::vector<std::string> others;
  const Listing listing = list_folder(root);
  for (const std::string& name : listing.folders) {
    if (const std::optional<SplitName> found = split_name(name)) {
      by_prefix[found->prefix].push_back({name, found->split, content_of(root / name)});
    } else {
      others.push_back(name);
    }
  }
  const bool has_others =
      !by_prefix.empty() && std::any_of(others.begin(), others.end(), [&](const std::string& name) {
        return content_of(root / name) != Content::neither;
      });
  for (const auto& [prefix, sets] : by_prefix) {
    const auto training = std::find_if(sets.begin(), sets.end(), trains_on_folders);
    const bool is_all = !has_others && by_prefix.size() == 1;
    if (training == sets.end()) {
      refuse_without_training(root, sets, is_all, listing.folders);
    } else if (has_two_sets(sets) || is_all || training->name == "train") {
      return folders_of(root, sets);
    } else if (prefix.empty()) {  // a train may have cars for neighbours
      notes.push_back(str("took ", training->name, "/ for a class, as what lies beside it",
                          "; a training set alone is called train/"));
    }
  }
  return std::nullopt;
}

std::string sets_in_classes_line(const TreePath& root, const std::vector<std::string>& classes) {
  Candidates sets;
  if (classes.empty()) return "";
  for (const std::string& name : list_folder(root / classes.front()).folders) {
    const std::optional<SplitName> found = split_name(name);
    if (found) sets.push_back({name, found->split, Content::pictures});
  }
  if (!has_two_sets(sets)) return "";
  return str("all pictures of a class are one set, those in ", classes.front(), "/",
             sets.front().name, "/ and ", classes.front(), "/", sets.back().name,
             "/ as well; a split is train/CLASS/ and test/CLASS/");
}

std::optional<std::string> wrapped_folder(const TreePath& folder) {
  const Listing listing = list_folder(folder);
  if (listing.folders.size() != 1 || has_pictures(listing)) return std::nullopt;
  const std::string& name = listing.folders.front();
  if (has_pictures(list_folder(folder / name))) return std::nullopt;
  return name;
}

std::string passed_over_line(const std::vector<std::string>& folders) {
  if (folders.empty()) return "";
  const std::size_t more = folders.size() - 1;
  return str("passed over the folder ", folders.front(),
             more > 0 ? str(" and ", more, " more") : "", ", which ", more > 0 ? "are" : "is",
             " hidden or a program's own");
}

}  // namespace weft::data
