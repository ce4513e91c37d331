// SPDX-License-Identifier: MIT
// Pictures with the text of their labels, as a tree of pictures. Internal to picture_labels.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/folder/layout.h"
#include "data/folder/tree.h"

namespace weft::data {

struct Labelled {
  PictureFile file;
  std::string label;
  Split set = Split::train;
};

// The set that the folders above a picture tell, such as train/ and test/.
std::optional<Split> set_of_folders(const std::string& path);

// The tree with these pictures. The classes are the labels of the training set. Throws data, with
// `where`, for fewer than 2 or more than kMaxClasses of them, and for labels that no training
// picture has.
PictureTree tree_of(PictureTree tree, std::vector<Labelled> pictures, Holding holding,
                    const std::string& where);

}  // namespace weft::data
