// SPDX-License-Identifier: MIT
// Headers that lie elsewhere in a student's folders.
#pragma once

#include <filesystem>
#include <string>

namespace weft::lab {

// A folder below `beside` or one of its next parents that has this header, as a path from the
// current folder; empty where there is none, or too much to look through. A home is left out.
std::filesystem::path nearby_folder_with(const std::string& header,
                                         const std::filesystem::path& beside);

}  // namespace weft::lab
