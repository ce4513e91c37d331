// SPDX-License-Identifier: MIT
// What `weft scan` and `weft histogram` work on: an .npy file, text with numbers, or a picture,
// from a file or from standard input. Contents tell what it is, not the name.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "data/image.h"
#include "data/npy.h"

namespace weft::cli {

// `path` is a file, or "-" or "" for standard input; "" with a terminal there is a usage error of
// `command`. A file that is missing gets a suggestion from its folder.
data::NpyArray read_array(const std::string& path, std::string_view command);
std::variant<data::NpyArray, data::RgbImage> read_array_or_picture(const std::string& path,
                                                                   std::string_view command);

// The name for messages and titles: the file's, or "standard input".
std::string input_name(const std::string& path);
std::string shape_text(const data::NpyArray& array);  // "1 000 000 float32", "28 x 28 uint8"
std::string numpy_name(std::string_view dtype);       // "f4" is "float32"

// The ending of `path` when it is one of `endings` (".npy"); else a usage error of --out. Also
// refuses, before any work is done, a folder that is not there.
std::string output_ending(const std::string& path, std::initializer_list<std::string_view> endings);

}  // namespace weft::cli
