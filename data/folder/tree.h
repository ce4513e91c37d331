// SPDX-License-Identifier: MIT
// Finds the pictures of a folder, and the class and the set that each belongs to.
//
//   DIR/train/CLASS/*.png   The training set. DIR/test/ and DIR/val/ have the same classes.
//                           layout.h says which other names the sets may have.
//   DIR/CLASS/*.png         No split: a tenth of each class is held out as the test set.
//
// A class is a folder; its pictures may lie in folders below it. The classes are in byte order of
// their names. Files count as pictures by their endings (image.h). Hidden files and folders are
// passed over. Symbolic links are followed, and a folder is entered once for each class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/trees/file_tree.h"

namespace weft::data {

inline constexpr std::size_t kMaxClasses = 4096;

struct PictureFile {
  std::string path;  // below the folder: "train/cat/1.png"
  std::int32_t label = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  // in nanoseconds
  std::string problem;        // why it cannot be a picture, or ""
};

struct PictureTree {
  std::vector<std::string> class_names;
  // In an order that mixes the classes and depends on the names only.
  std::vector<PictureFile> train, validation, test;
  bool held_out = false;                 // the test set was held out of pictures without a split
  std::vector<std::string> left_out;     // files and folders that are no picture of a class
  std::vector<std::string> passed_over;  // folders that are hidden or a program's own
  std::vector<std::string> notes;        // lines that say how the folders were understood
};

enum class Holding {
  tenth,    // of pictures without a split, hold a tenth of each class out as the test set
  nothing,  // all of them are the test set, for a model that was trained on others
};

// The same file is always on the same side of the tenth, whatever else is added to other classes.
// With val/ and no test/, val/ is the test set. Throws data for a folder that cannot be listed, for
// fewer than 2 or more than kMaxClasses classes, and for a class name that is not UTF-8. A class
// without training pictures, a class that only test/ or val/ has, a set without pictures, and what
// find_split() refuses are refused in the same way.
PictureTree list_pictures(const TreePath& folder, Holding holding = Holding::tenth);

// Every picture below the folder, in the order of the folders. The tree gets what was passed over.
std::vector<PictureFile> pictures_below(const TreePath& folder, PictureTree& tree);

// Puts the pictures of each set, which are all training pictures where no set is told, into an
// order that mixes the classes. Where there is no test set, the validation set becomes it, or else
// a tenth of each class; with Holding::nothing and no set told, all are the test set.
void arrange(PictureTree& tree, Holding holding);

}  // namespace weft::data
