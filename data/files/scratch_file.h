// SPDX-License-Identifier: MIT
// The cache folder, and files without a name in it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "data/files/directory.h"

namespace weft::data {

// $XDG_CACHE_HOME/weft, or ~/.cache/weft; empty when neither variable is set.
std::filesystem::path default_cache_folder();

// How many bytes the cache folder has room for: what its disk has free, or less where the process
// may not write files of that size (ulimit -f). 0 without such a folder, and where it is in memory
// itself (tmpfs).
std::uint64_t scratch_room();

// An empty file in the cache folder, which is made when it is missing. Throws data when it cannot
// be.
Descriptor open_scratch_file();

// Takes `bytes` bytes of the disk for such a file, so that no write to them can fail later. Throws
// data, with the numbers, when there are fewer.
void take_room(int scratch_file, std::uint64_t bytes);

}  // namespace weft::data
