// SPDX-License-Identifier: MIT
// Folders that hold the same folders, or no pictures: what lies beside the classes. Internal to the
// listing of pictures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/trees/file_tree.h"

namespace weft::data {

// Is there a picture in the folder, or in one below it?
bool holds_pictures_below(const TreePath& folder);

// The folder that has all the data, where `folder` holds no pictures itself: the only one with
// folders of pictures. The others hold no pictures, or are sets by their names whose pictures lie
// in no folders of classes. Nothing when there is none, or when `folder` holds fewer than two.
std::optional<std::string> only_folder_of_data(const TreePath& folder);

// The folder among these that holds all others once more, as unpacking twice leaves it; else "".
// There are at least two others.
std::string repeated_folder(const TreePath& root, const std::vector<std::string>& folders);

// The folders that each of `classes` holds, two at least, where none holds pictures itself: train
// and test, or images and masks. Empty when the classes hold other folders than each other.
std::vector<std::string> folders_in_each(const TreePath& root,
                                         const std::vector<std::string>& classes);

// Is it the name of pictures that show where something is, and not what: "masks", "Mask_images"?
bool names_masks(const std::string& folder);

// Why the folders are no classes by their names, or "": images/ and masks/, or color/ and
// grayscale/ and fold1/ and fold2/ that hold the same folders.
std::string why_no_classes(const std::vector<std::string>& folders, bool are_alike);

}  // namespace weft::data
