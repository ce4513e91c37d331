// SPDX-License-Identifier: MIT
// How people lay folders around their pictures: the names of training and test sets, folders that
// only wrap another one, and what programs leave beside pictures.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/trees/file_tree.h"

namespace weft::data {

// True when one of the files has the ending of a picture.
bool has_pictures(const Listing& listing);

enum class Split { train, validation, test };

// "trainingSet_2" is training, set, 2: the words of a name, in small letters.
std::vector<std::string> words_of(std::string_view name);

// The set that a word means: "train2017", "testset", "val". Digits and a word for the content may
// end it.
std::optional<Split> split_of(std::string_view word);

struct SplitName {
  Split split;
  std::string prefix;  // "mnist" of "mnist_train"; small letters
};

// What a folder's name says, in any case of letters: "train", "Training", "test_set", "val-images",
// "validation", "dev", "train2017", "seg_train". Nothing when the name is no name of a set.
std::optional<SplitName> split_name(std::string_view folder);

// The folders of a split below the root, by Split; "" where there is none.
using SplitFolders = std::array<std::string, 3>;

// Nothing when the folders of `root` are classes. `notes` gets a line when a folder has the name of
// a training set and is taken for a class. Throws data when the folders look like a split that
// cannot be read: two folders of one set, or sets without a training set that has folders.
std::optional<SplitFolders> find_split(const TreePath& root, std::vector<std::string>& notes);

// A line when the classes, folders in `root`, hold sets of their own, as in cat/train/ and
// cat/test/; else "". They are not told apart.
std::string sets_in_classes_line(const TreePath& root, const std::vector<std::string>& classes);

// The name of the one folder in `folder`, when neither it nor `folder` holds pictures: then it only
// wraps what is below it.
std::optional<std::string> wrapped_folder(const TreePath& folder);

// "passed over the folder __MACOSX, which is hidden or a program's own"; "" for none.
std::string passed_over_line(const std::vector<std::string>& folders);

}  // namespace weft::data
