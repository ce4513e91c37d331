// SPDX-License-Identifier: MIT
// Data of the user's own, by its place alone: what `weft train --data DIR` reads.
#pragma once

#include <filesystem>
#include <string>

#include "data/folder/folder.h"

namespace weft::data {

// Reads the folder as the first of these that it is:
//   IDX files with MNIST's names, of any size, without a checksum (train-images-idx3-ubyte, ...).
//     Images may have 4 axes, (count, channels, height, width), with 1 or 3 channels. The classes
//     are "0" to the largest label, and each must have a training image.
//   CIFAR-10 or CIFAR-100 (cifar.h).
//   A folder of pictures for each class (folder.h).
// When it is none of them and only wraps another folder, that one is read, with a line that says
// so. The name of the data set is that of the outer folder. A line says how many symbolic links
// lead out of it (links.h). Throws data when `folder` is no folder or for what the readers refuse,
// and usage when IDX or CIFAR has another shape than the one asked for.
Dataset load_own_data(const std::filesystem::path& folder, const FolderOptions& options);

}  // namespace weft::data
