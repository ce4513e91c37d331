// SPDX-License-Identifier: MIT
// What EMNIST's sets have that their files do not say: images stored with rows and columns
// exchanged, and labels that stand for letters. Source: Cohen, Afshar, Tapson and van Schaik 2017,
// "EMNIST: an extension of MNIST to handwritten letters", and the mapping files beside its data.
#pragma once

#include <string>
#include <string_view>

namespace weft::data {

// Is it the name of an EMNIST file or set, in any case of letters: "emnist-letters-train"?
bool is_emnist(std::string_view name);

// The class of a label in the set of this name: "A" for 1 in letters, "A" for 10 in balanced,
// bymerge and byclass. The label itself where the set has digits only, or is unknown.
std::string emnist_class(std::string_view name, std::string_view label);

}  // namespace weft::data
