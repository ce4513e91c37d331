// SPDX-License-Identifier: MIT
// A data set as the files that other programs read. load_own_data() reads the same pixels, labels
// and names of classes from them, but for the names where a format has none.
#pragma once

#include "data/files/file_io.h"
#include "data/folder/folder.h"

namespace weft::data {

// FOLDER/train.csv, test.csv and, where there is such a set, validation.csv: a header, the name of
// the class, then the values of the pixels, those of the channels together. Throws data as
// write_new_folder() does, and for a class name with a double quote or a line break.
void write_csv(const Dataset& dataset, const std::filesystem::path& folder);

// One file with x_train, y_train, x_test, y_test and, where there is such a set, x_val and y_val:
// bytes (n, height, width) or (n, height, width, 3), and labels as numbers.
void write_npz(const Dataset& dataset, const OutputPath& to);

// FOLDER/train-images-idx3-ubyte and three more files, in colour idx4 with (n, channels, height,
// width). Throws data for more than 256 classes, and where there is a validation set, for which
// there is no name.
void write_idx(const Dataset& dataset, const std::filesystem::path& folder);

}  // namespace weft::data
