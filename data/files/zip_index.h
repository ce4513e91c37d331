// SPDX-License-Identifier: MIT
// The members of a ZIP file by their place in it (PKWARE, APPNOTE.TXT 6.3, sections 4.3 and 4.4),
// so that several threads read and inflate them at once. libarchive goes through a file one by one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/files/file_io.h"
#include "data/files/gzip.h"
#include "engine/error.h"

namespace weft::data {

class ZipIndex {
 public:
  // Nothing for a file whose directory is not plain: one of several parts, of more than 4 GiB, with
  // other members than stored and deflated ones, with passwords, or damaged. ArchiveReader reads
  // these, or says what is wrong. Nothing either where Weft was built without libdeflate. Throws
  // data when the file cannot be read.
  static std::optional<ZipIndex> open(const std::filesystem::path& file);

  // In the order of their places in the file, which is that of ArchiveReader.
  std::size_t size() const { return members_.size(); }
  const std::string& name(std::size_t member) const { return members_[member].name; }

  // The bytes of a member, by any thread. Throws data when it has more than `limit`, or is not what
  // the directory and its checksum say.
  Bytes read(std::size_t member, std::size_t limit) const;

 private:
  struct Member {
    std::string name;  // as the directory has it
    bool is_deflated = false;
    std::uint32_t checksum = 0, packed = 0, bytes = 0, offset = 0;  // of its local header
  };

  explicit ZipIndex(const std::filesystem::path& file) : file_(file) {}
  Error bad(std::size_t member, const std::string& what) const;

  InputFile file_;
  std::vector<Member> members_;
};

}  // namespace weft::data
