// SPDX-License-Identifier: MIT
// The arrays in a Python pickle, and the names that say what they are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/pickle/pickle.h"
#include "data/tables/named_arrays.h"

namespace weft::data {

// Arrays and lists of whole numbers, by the keys of the dicts that hold them, joined by "_". Of a
// tuple or list, three parts are the training, validation and test set, as in mnist.pkl.gz, and two
// parts that hold more than an array each are training and test set. Else the parts of a tuple are
// told apart by their shapes. Of CIFAR-100's labels the fine ones are taken. Throws data, with
// `where`, for a pickle without arrays, with more than 64, or with one batch of CIFAR alone, whose
// folder is a data set.
std::vector<NamedArray> pickled_arrays(const Pickle& pickle, const std::string& name,
                                       const std::string& where);

// The array that a list of whole numbers is, (n,) of type i8. Nothing for another list.
std::optional<NpyArray> array_of_list(const PickleValue& list);

}  // namespace weft::data
