// SPDX-License-Identifier: MIT
// What the lab keeps: programs, objects and headers, each in a folder named by the contents of all
// that it is made of.
#pragma once

#include <filesystem>
#include <string>

namespace weft::lab {

// 32 hexadecimal digits of the text.
std::string hash(const std::string& text);

// The state of a file that is not read: the file changed when this did.
std::string state_of(const std::filesystem::path& file);

// Marks a folder of the cache as used now.
void mark_used(const std::filesystem::path& folder);
// Removes what was not used for longest, beyond the last 64 programs and 256 objects.
void prune(const std::filesystem::path& cache);

inline constexpr const char* kObjectFolder = "object-";
inline constexpr const char* kHeaderFolder = "header-";
inline constexpr const char* kShellFolder = "shell-";  // see shell.h

}  // namespace weft::lab
