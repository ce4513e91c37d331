// SPDX-License-Identifier: MIT
// Data sets in tables and arrays: CSV files, .npz and .npy files, and pickles of arrays.
#pragma once

#include <optional>
#include <string_view>

#include "data/folder/folder.h"

namespace weft::data {

inline constexpr std::string_view kTableFormats = "CSV, .npy, .npz and .pkl files";

// Does the folder have files of these formats, or folders of sets, such as train/, with them?
bool holds_tables(const TreePath& folder);

// What `path` holds: a file, or a folder with such files.
//   x.csv, x.tsv, x.csv.gz   csv.h. Of several, their names tell the sets: mnist_train.csv and
//                            mnist_test.csv. One without labels is passed over, unless
//                            a table of one column has as many for its set.
//   x.npz                    its arrays (named_arrays.h); of several files, those of all of them.
//   *.npy                    images and labels in pairs (named_arrays.h).
//   *.pkl, *.pickle, *.p     arrays in a Python pickle (pickled_arrays.h), gzip or not.
// Nothing when `path` is a folder without such files. A file with none is refused, and so is a
// folder with both tables and arrays, and what needs more memory than there is. EMNIST's tables,
// which their names tell, have rows and columns exchanged, and are turned. Throws data, with the
// name of the file.
std::optional<Dataset> load_tables(const TreePath& path, const FolderOptions& options);

// What the text files of a folder hold whose names end otherwise, where they hold rows of numbers
// and lie beside no folders: optdigits.tra and optdigits.tes, zip.train.gz, semeion.data. Nothing
// where there is none.
std::optional<Dataset> load_texts(const TreePath& folder, const FolderOptions& options);

}  // namespace weft::data
