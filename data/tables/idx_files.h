// SPDX-License-Identifier: MIT
// IDX files of the user's own, found by the patterns that their names follow.
#pragma once

#include <optional>
#include <string>

#include "data/sets/dataset.h"
#include "data/trees/file_tree.h"

namespace weft::data {

// Four IDX files: images and labels of a training and a test set, as MNIST
// (train-images-idx3-ubyte, t10k-images-idx3-ubyte, ...), EMNIST
// (emnist-letters-test-images-idx3-ubyte) and others name them: a prefix, train or t10k or test,
// images or labels, and idx1, idx3 or idx4, with any punctuation between, gzip or not. Images may
// have 4 axes, (count, channels, height, width), with 1 or 3 channels, and any size up to
// kMaxDatasetSide. Where the folder has several sets, `file`, the name of one of them, chooses its
// set by its prefix.
// EMNIST's images are turned upright, and its letters have their names; the classes of others are
// "0" to the largest label. Nothing when the folder has no IDX files. Throws data when a
// file is missing or damaged, when a class has no training image, and for a folder with several
// sets.
std::optional<Dataset> load_idx_files(const TreePath& folder, const std::string& file = "");

// Has it the name of such a file?
bool is_idx_name(const std::string& file);

}  // namespace weft::data
