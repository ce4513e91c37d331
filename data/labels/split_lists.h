// SPDX-License-Identifier: MIT
// Lists that tell the sets of pictures in folders of classes. Internal to labels/picture_labels.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/folder/folder.h"
#include "data/folder/tree.h"

namespace weft::data {

// `files` are all pictures below the folder, and `lists` the text files that may be such lists:
//   train.txt and test.txt, or val.txt: a path in each line, with or without its ending, and
//     anything behind it, as Food-101 has them.
//   images.txt with a number and a path in each line, and train_test_split.txt with the number and
//     1 for training, as CUB-200 has them.
// The classes are the names of the folders that hold the pictures. Pictures in no list are left
// out. Nothing when the lists do not tell both a training and another set.
std::optional<PictureTree> pictures_by_split_lists(const TreePath& folder,
                                                   const std::vector<PictureFile>& files,
                                                   const std::vector<std::string>& lists,
                                                   const PictureTree& tree,
                                                   const FolderOptions& options);

}  // namespace weft::data
