// SPDX-License-Identifier: MIT
// The files in a .zip or .tar archive. Nothing is written to disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/files/gzip.h"

namespace weft::data {

// What is in an archive may have so many bytes together, or twice those of the archive itself.
inline constexpr std::uint64_t kMostArchived = std::uint64_t{8} << 30;

// By its first bytes: a ZIP archive, also an .npz.
bool is_zip(std::span<const std::uint8_t> bytes);

struct ArchiveEntry {
  enum class Kind { file, folder, other };  // other: a link, a device

  std::string name;  // its path in the archive, as that has it
  Kind kind = Kind::file;
  std::uint64_t bytes = 0;    // that it claims to have
  std::int64_t modified = 0;  // in nanoseconds
  bool is_encrypted = false;
};

// Reads a ZIP or tar archive, gzip or not, from its beginning to its end. Everything that goes
// wrong is Error{data} in one line, also where Weft was built without libarchive.
class ArchiveReader {
 public:
  explicit ArchiveReader(const std::filesystem::path& file);
  // The bytes must outlive the reader. `where` names the archive.
  ArchiveReader(std::span<const std::uint8_t> archive, std::string where);
  ~ArchiveReader();

  // Nothing behind the last entry. Throws data when the archive is none, damaged, or holds more
  // than kMostArchived.
  std::optional<ArchiveEntry> next();
  // All bytes of the entry that next() gave, at most `limit`, whatever the archive claims.
  Bytes read(std::size_t limit);

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

struct ArchivedFile {
  std::string name;  // its path in the archive
  Bytes bytes;
};

// The regular files that `wanted` says yes to, in the order of the archive. Their bytes together
// are at most `limit`. `where` names the archive.
std::vector<ArchivedFile> read_archive(std::span<const std::uint8_t> archive, std::size_t limit,
                                       const std::function<bool(const std::string& name)>& wanted,
                                       const std::string& where);

}  // namespace weft::data
