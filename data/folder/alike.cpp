// SPDX-License-Identifier: MIT
#include "data/folder/alike.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "data/folder/layout.h"
#include "engine/error.h"

namespace weft::data {
namespace {

constexpr int kMostLevels = 64;

constexpr std::string_view kMaskWords[] = {"mask",          "masks",       "segmentation",
                                           "segmentations", "groundtruth", "trimaps"};
constexpr std::string_view kPictureWords[] = {"images",   "image",  "img",       "imgs",
                                              "pictures", "photos", "jpegimages"};
// What makes other pictures of the same ones.
constexpr std::string_view kVariantWords[] = {
    "color",     "colour",   "grayscale", "greyscale", "gray",      "grey",    "rgb",
    "segmented", "original", "augmented", "raw",       "processed", "resized", "cropped"};
constexpr std::string_view kPartWords[] = {"fold", "part", "batch", "split", "set"};

template <class List>
bool holds(const List& list, std::string_view value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

class PictureSearch {
 public:
  bool finds_below(const TreePath& folder, int levels) {
    const FileStatus status = folder.status();
    const bool is_on_disk = status.identity != std::pair<dev_t, ino_t>();
    if (is_on_disk && !entered_.insert(status.identity).second) return false;  // by a link
    const Listing listing = list_folder(folder);
    if (has_pictures(listing)) return true;
    return levels > 0 && std::any_of(listing.folders.begin(), listing.folders.end(),
                                     [&](const std::string& name) {
                                       return finds_below(folder / name, levels - 1);
                                     });
  }

 private:
  std::set<std::pair<dev_t, ino_t>> entered_;
};

// "color", "fold1", "part_2"
bool names_a_variant(const std::string& folder) {
  std::vector<std::string> words = words_of(folder);
  for (std::string& word : words) {
    while (word.size() > 1 && std::isdigit(static_cast<unsigned char>(word.back())) != 0) {
      word.pop_back();
    }
  }
  const bool has_number =
      !folder.empty() && std::isdigit(static_cast<unsigned char>(folder.back()));
  return !words.empty() &&
         (holds(kVariantWords, words.front()) || (has_number && holds(kPartWords, words.front())));
}

bool names_pictures(const std::string& folder) {
  const std::vector<std::string> words = words_of(folder);
  return words.size() == 1 && holds(kPictureWords, words.front());
}

}  // namespace

bool holds_pictures_below(const TreePath& folder) {
  return PictureSearch().finds_below(folder, kMostLevels);
}

std::optional<std::string> only_folder_of_data(const TreePath& folder) {
  const Listing listing = list_folder(folder);
  if (listing.folders.size() < 2 || has_pictures(listing)) return std::nullopt;
  std::optional<std::string> found;
  for (const std::string& name : listing.folders) {
    const TreePath inner = folder / name;
    if (!holds_pictures_below(inner)) continue;
    const Listing below = list_folder(inner);
    const auto has_any = [&](const std::string& at) { return holds_pictures_below(inner / at); };
    const bool has_folders = std::any_of(below.folders.begin(), below.folders.end(), has_any);
    const bool is_wrapped_set =  // test/test/*.png
        split_name(name) && below.folders.size() == 1 && split_name(below.folders.front()) &&
        list_folder(inner / below.folders.front()).folders.empty();
    if (!has_folders && !split_name(name)) return std::nullopt;
    if (!has_folders || is_wrapped_set) continue;
    if (found || has_pictures(below)) return std::nullopt;
    found = name;
  }
  return found;
}

std::string repeated_folder(const TreePath& root, const std::vector<std::string>& folders) {
  if (folders.size() < 3) return "";
  for (const std::string& name : folders) {
    const std::vector<std::string> inner = list_folder(root / name).folders;
    if (inner.size() + 1 < folders.size()) continue;
    const bool holds_others =
        std::all_of(folders.begin(), folders.end(), [&](const std::string& other) {
          return other == name || std::binary_search(inner.begin(), inner.end(), other);
        });
    if (holds_others) return name;
  }
  return "";
}

std::vector<std::string> folders_in_each(const TreePath& root,
                                         const std::vector<std::string>& classes) {
  std::vector<std::string> common;
  for (const std::string& name : classes) {
    const Listing listing = list_folder(root / name);
    if (listing.folders.size() < 2 || has_pictures(listing)) return {};
    if (common.empty()) common = listing.folders;
    if (common != listing.folders) return {};
  }
  return common;
}

bool names_masks(const std::string& folder) {
  const std::vector<std::string> words = words_of(folder);
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return holds(kMaskWords, word); });
}

std::string why_no_classes(const std::vector<std::string>& folders, bool are_alike) {
  const auto all = [&](auto is) { return std::all_of(folders.begin(), folders.end(), is); };
  const auto any = [&](auto is) { return std::any_of(folders.begin(), folders.end(), is); };
  if (folders.size() < 2) return "";
  const std::string names = str(folders.front(), "/ and ", folders.back(), "/");
  if (any(names_masks) && any(names_pictures) &&
      all([](const std::string& name) { return names_masks(name) || names_pictures(name); })) {
    return str(names, " are pictures and masks of them by their names, and no classes");
  }
  if (are_alike && all(names_a_variant)) {
    return str(names, " hold the same folders, which are the classes then: --data with one of ",
               "them, or several --data, says which are meant");
  }
  return "";
}

}  // namespace weft::data
