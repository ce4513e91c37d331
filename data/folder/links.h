// SPDX-License-Identifier: MIT
// Symbolic links in a folder of data that lead out of it, to files that whoever made the folder
// wants to be read.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace weft::data {

enum class Links { followed, refused };  // where they lead out of the folder

// Does this symbolic link lead to something that is there and lies outside of a folder, which is
// given by its canonical path?
bool leads_out(const std::filesystem::path& canonical_folder, const std::filesystem::path& link);

// The links that list_folder() sees in the folder and in the folders below it, by their paths below
// it. Folders that are links are not entered.
std::vector<std::string> links_out_of(const std::filesystem::path& folder);

// Says in one line how many of these links there are; nothing for none. Throws data with that line
// when they are refused.
void judge_links(const std::filesystem::path& folder, const std::vector<std::string>& links,
                 Links what, const std::function<void(const std::string&)>& log);

}  // namespace weft::data
