// SPDX-License-Identifier: MIT
// Whole files in memory, gzip inflated on the way, never more of them than the caller allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "data/files/host_array.h"

namespace weft::data {

using Bytes = HostArray<std::uint8_t>;

// All bytes of a regular file. Throws data when it is missing, unreadable or above `limit` bytes.
Bytes read_file(const std::filesystem::path& path, std::size_t limit);

bool is_gzip(std::span<const std::uint8_t> bytes);  // by its magic number

// Inflates one gzip stream of any number of members. The stream's own size field is not trusted:
// memory grows with what really comes out, up to `limit`. Throws data, naming `name`, when the
// stream is truncated, damaged, followed by other bytes or inflates to more than `limit`.
Bytes inflate_gzip(std::span<const std::uint8_t> bytes, std::size_t limit, const std::string& name);

// The first `most` bytes that the stream inflates to, or all when there are fewer. What is behind
// them is not inflated, and not checked.
Bytes inflate_gzip_front(std::span<const std::uint8_t> bytes, std::size_t most,
                         const std::string& name);

// read_file(), inflated when it is gzip. `limit` holds for the file and for what comes out.
Bytes read_file_inflated(const std::filesystem::path& path, std::size_t limit);

}  // namespace weft::data
