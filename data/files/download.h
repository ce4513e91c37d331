// SPDX-License-Identifier: MIT
// Downloads one file with the curl program.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace weft::data {

// Writes what `url` serves to `target`. Returns "" on success, else why not, in one line. Gives up
// after 5 s without a connection, 20 s without progress, `most_time`, or where more than
// `max_bytes` come, whatever the server has announced. No shell is involved.
std::string download_with_curl(const std::string& url, const std::filesystem::path& target,
                               std::uint64_t max_bytes,
                               std::chrono::seconds most_time = std::chrono::seconds(600));

}  // namespace weft::data
