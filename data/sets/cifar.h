// SPDX-License-Identifier: MIT
// CIFAR-10 and CIFAR-100 in their binary and their Python format, and STL-10 in its binary one,
// from files that the user has.
//
// A record is one label byte in CIFAR-10, a coarse and a fine one in CIFAR-100, and 3 planes of
// 32 x 32 bytes: red, green, blue. Source: Krizhevsky 2009, "Learning multiple layers of features
// from tiny images", and the page that comes with the files. A file may be gzip. STL-10 has planes
// of 96 x 96 bytes by columns, without labels among them. Source: Coates, Lee and Ng 2011, "An
// analysis of single-layer networks in unsupervised feature learning", and its page.
#pragma once

#include <optional>

#include "data/sets/dataset.h"
#include "data/trees/file_tree.h"

namespace weft::data {

// CIFAR-10 from data_batch_1.bin to data_batch_5.bin and test_batch.bin, with the names of
// batches.meta.txt; CIFAR-100 with its fine labels from train.bin and test.bin, with the names of
// fine_label_names.txt. Or both from the pickles of the Python format: data_batch_1 to
// data_batch_5, test_batch and batches.meta, or train, test and meta. Without a text file of
// names, the classes are called "0", "1", ... Or STL-10 from train_X.bin, train_y.bin, test_X.bin
// and test_y.bin, whose labels begin at 1, with the names of class_names.txt. Nothing when the
// folder holds none of their first files. Throws data when a file is missing or damaged.
std::optional<Dataset> load_cifar(const TreePath& folder);

}  // namespace weft::data
