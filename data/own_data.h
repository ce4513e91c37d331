// SPDX-License-Identifier: MIT
// Data of the user's own, by its place alone: what `weft train --data DIR` reads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/folder/folder.h"

namespace weft::data {

// Reads a folder as the first of these that it is:
//   IDX files of any size, without a checksum (tables/idx_files.h).
//   CIFAR-10 or CIFAR-100 (sets/cifar.h).
//   Pictures whose names fit options.label_pattern, or that a table names
//     (labels/picture_labels.h).
//   Tables and arrays: CSV, .npy and .npz files, where no folder in it holds pictures
//     (tables/tables.h).
//   A folder of pictures for each class (folder/folder.h).
// When it is none of them and only wraps another folder, that one is read, with a line that says
// so. An archive (trees/file_tree.h) is read as a folder is. Another file is a table or one of four
// IDX files. The name of the data set is that of the outer folder or the file. A line
// says how many symbolic links lead out of the folder (links.h). Throws data when `path` is neither
// folder nor file or for what the readers refuse, and usage when the images have another shape than
// the one asked for.
//
// Several paths, with a line feed between them, are read one by one and joined (joined.h). All
// pictures then get the size and the channels of the first.
Dataset load_own_data(const std::filesystem::path& path, const FolderOptions& options);

// The paths that `path` holds: itself, where there is such a file or folder.
std::vector<std::filesystem::path> own_data_paths(const std::filesystem::path& path);

}  // namespace weft::data
