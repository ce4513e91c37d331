// SPDX-License-Identifier: MIT
// Images and labels as tables and arrays have them, and the data set that they are.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/folder/folder.h"
#include "data/folder/layout.h"

namespace weft::data {

struct LabelledValues {
  std::string where;  // the file, for messages
  std::int64_t count = 0, channels = 1, height = 0, width = 0;
  // (count, channels, height, width). Bytes hold whole numbers from 0 to 255, floats anything else;
  // the other one is empty.
  Bytes bytes = {};
  HostArray<float> floats = {};
  std::vector<std::string> labels = {};  // (count,) as text; empty where the file has none
};

// The values, by Split; nothing where there is no such set.
using LabelledSets = std::array<std::optional<LabelledValues>, 3>;

// The name of a label's class: "3.0" and "3" are one.
std::string class_name(std::string_view label);
// In the order of their numbers, or of their bytes where one is no number.
void sort_classes(std::vector<std::string>& names);

// How many pixels a value can be: those of an image whose shape is not stated. The options' shape
// decides where it is given. Otherwise `values` is the square of a side, in grey, or three times
// one, in colour. Throws data, with `where`, when it is neither, and usage when the options do not
// fit.
struct ImageExtents {
  std::int64_t channels = 1, height = 0, width = 0;
};
ImageExtents extents_of(std::int64_t values, const PictureShape& shape, const std::string& where);

// From (count, height, width, channels) to (count, channels, height, width).
void separate_channels(LabelledValues& values);

// The classes are the labels of the training set, in the order of their numbers, or of their bytes
// where one is no number. All values are scaled alike to 0..255: up to 1 the largest possible value
// is taken for 1, up to 16 for 16, up to 255 for 255, up to 65535 for 65535. From -1 to 1, -1 is
// black. Without a test set the validation set is one, or else a tenth of each class is, always of
// the same rows; with Holding::nothing all rows are the test set. Lines tell what was found. Throws
// data for labels that the training set lacks, and for sets of other shapes. It does so too for
// fewer than 2 or more than kMaxClasses classes, and for values that are not finite or outside of
// these ranges.
Dataset dataset_of(LabelledSets sets, const FolderOptions& options);

}  // namespace weft::data
