// SPDX-License-Identifier: MIT
// NumPy's arrays as images and labels: what they are is told by their names, as Keras, PyTorch,
// MedMNIST and scikit-learn give them, and else by their shapes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/arrays/npy.h"
#include "data/tables/labelled_values.h"

namespace weft::data {

struct NamedArray {
  std::string name;   // "x_train"; of an .npy file its name
  std::string where;  // for messages
  NpyArray array;
  std::vector<std::string> words = {};  // of an array of text, whose `array` has the shape alone
};

// Images are (n, h, w), (n, h, w, c), (n, c, h, w) or (n, values), with 1 or 3 channels; labels
// (n,), (n, 1), or (n, classes) with a single 1 in each row. A name tells the set (train, val,
// test) and the kind (x, images, data; y, labels, targets): "x_train", "test_labels", "Xtrain",
// "images". Labels may be words. Words that are not as many as images are the names of the classes:
// label i becomes name i. Arrays of one set whose names tell no kind are told apart by their
// shapes, or are left out where others tell that they are images and labels. Several arrays of
// images without labels, whose names tell nothing of this, are a class each, as Quick, Draw! has
// them. Throws data for images without labels and for labels without images, for two arrays that
// claim one place, and for other shapes.
LabelledSets labelled_sets(std::vector<NamedArray> arrays, const PictureShape& shape);

}  // namespace weft::data
