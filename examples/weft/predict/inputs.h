// SPDX-License-Identifier: MIT
// The pictures that the arguments of `weft predict` stand for.
#pragma once

#include <string>
#include <vector>

#include "data/folder/links.h"
#include "data/picture/image.h"

namespace weft::cli {

struct PictureInput {
  std::string path;     // of a file, or "-" for standard input
  std::string problem;  // why this argument stands for no picture; empty when it does
};

// A folder stands for the pictures in it and then in the folders in it, told by their endings and
// sorted with numbers by value; a line counts those of several folders. A name with *, ? or [ that
// is no file stands for what it matches. A line tells of the links among a folder's pictures that
// lead out of it. Throws usage when "-" is given twice, and data for links that are refused.
std::vector<PictureInput> expand_inputs(const std::vector<std::string>& arguments,
                                        data::Links links = data::Links::followed);

// Throws data, naming the input, unless it is a picture. `sample_bits` is that of
// data/picture/image.h.
data::GreyImage load_input(const PictureInput& input, int sample_bits);
data::GreyImage load_ink_input(const PictureInput& input, int sample_bits);  // data/ink/colour.h
data::RgbImage load_colour_input(const PictureInput& input, int sample_bits);

}  // namespace weft::cli
