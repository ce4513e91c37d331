// SPDX-License-Identifier: MIT
// The files in a .zip or .tar archive, in memory. Nothing is written to disk.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/files/gzip.h"

namespace weft::data {

struct ArchivedFile {
  std::string name;  // its path in the archive
  Bytes bytes;
};

// By its first bytes: a ZIP archive, also an .npz.
bool is_zip(std::span<const std::uint8_t> bytes);

// The regular files of a ZIP or tar archive, gzip or not, that `wanted` says yes to, in the order
// of the archive. Their bytes together are at most `limit`, whatever the archive claims of itself.
// `where` names the archive. Throws data when it is none, damaged, encrypted, or holds more, and
// where Weft was built without libarchive.
std::vector<ArchivedFile> read_archive(std::span<const std::uint8_t> archive, std::size_t limit,
                                       const std::function<bool(const std::string& name)>& wanted,
                                       const std::string& where);

}  // namespace weft::data
