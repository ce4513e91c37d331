// SPDX-License-Identifier: MIT
// IDX, the file format of the MNIST family: two zero bytes, a type byte, the rank, one big-endian
// 32-bit extent per axis, then the elements. Weft reads unsigned bytes (type 0x08), and the 32-bit
// labels of QMNIST.
//
// Every field is checked before it is used, so that any bytes whatever either parse or throw data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/files/gzip.h"
#include "data/sets/dataset.h"
#include "data/trees/file_tree.h"

namespace weft::data {

inline constexpr std::size_t kMaxIdxBytes = std::size_t{1} << 30;  // of one file, inflated

struct IdxArray {
  std::vector<std::int64_t> extents;
  Bytes values;      // as many as the product of the extents
  std::string name;  // for messages: the file
};

// A rank: 3 axes, or 4 when the file says so, (count, channels, height, width).
inline constexpr int kImageRank = 0;

// `rank` is what the caller expects: 3 or kImageRank for images, 1 for labels.
IdxArray parse_idx(Bytes bytes, int rank, const std::string& name);
IdxArray read_idx(const TreePath& path, int rank);
// Labels of rank 1. Or QMNIST's: 32-bit numbers (type 0x0c) of rank 2, of which the first in each
// row is the label.
IdxArray read_idx_labels(const TreePath& path);
// The bytes of the file. A gzip is inflated no further than the header of the IDX file in it says,
// and refused when there is more.
Bytes read_idx_bytes(const TreePath& path, int rank);

// Joins images (count, height, width) or (count, channels, height, width) and labels (count,).
// Throws data when the counts differ, are zero, a label is not below `classes`, or there are other
// than 1 or 3 channels.
ImageSet join_images_and_labels(IdxArray images, IdxArray labels, int classes);

// Swaps rows and columns of every image: EMNIST is stored that way.
void transpose_images(ImageSet& set);

}  // namespace weft::data
