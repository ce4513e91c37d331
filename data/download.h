// SPDX-License-Identifier: MIT
// Downloads one file with the curl program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace weft::data {

// Writes what `url` serves to `target`. Returns "" on success, else why not, in one line. Gives up
// after 5 s without a connection, 20 s without progress, or above `max_bytes`. No shell is
// involved.
std::string download_with_curl(const std::string& url, const std::filesystem::path& target,
                               std::uint64_t max_bytes);

}  // namespace weft::data
