// SPDX-License-Identifier: MIT
// Pictures whose labels stand in a table beside them, or in their names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "data/folder/folder.h"
#include "data/folder/tree.h"

namespace weft::data {

// The label in a file name, by a pattern: LABEL stands for the label, as short as can be, # for
// digits, * for anything, and the rest for itself. "LABEL.#.*" finds cat in "cat.12.jpg". Nothing
// when the name does not fit.
std::optional<std::string> label_in_name(std::string_view name, std::string_view pattern);

// Throws usage for a pattern without LABEL, or with more than one.
void check_label_pattern(std::string_view pattern);

// All pictures below the folder whose names fit the pattern. Folders with the name of a set, such
// as train/ and test/, tell the set. The classes are those of the training set. Throws data as
// list_pictures() does, and when no name fits.
PictureTree pictures_by_pattern(const TreePath& folder, const std::string& pattern,
                                Holding holding);

// Pictures by the tables (.csv, .tsv) in the folder. One column names the pictures: by their paths,
// or by as much of the end of these as tells them apart, with or without the ending. Another column
// is the label: the one called so, or the only one left, or options.label_column; or each class has
// a column of 0 and 1. The set of a row is told by a column (split, is_valid), by the name of the
// table (train.csv), or by the picture's folder. JSON may be such a table (labels/label_table.h).
//
// Where the folders of the pictures tell no classes, a text file (.txt) with a path and a label in
// each line is a table, too. So are the tables in the folders of the sets, and files KEY.cls or
// KEY.json with the label of KEY.jpg, as WebDataset has them. Where they do tell classes, lists may
// tell the sets (labels/split_lists.h). Where train/ has folders of classes and test/ has none, a
// table in test/ or beside it tells what the pictures of test/ show. Its labels are classes of
// train/. The same goes for val/.
//
// Nothing when no table names pictures, or when train/ and test/ have folders of classes. Throws
// data for a picture with two labels and for a name of two pictures, and usage when a table has no
// such column.
std::optional<PictureTree> pictures_by_table(const TreePath& folder, const FolderOptions& options);

}  // namespace weft::data
