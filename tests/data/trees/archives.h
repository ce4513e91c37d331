// SPDX-License-Identifier: MIT
// Archives that a test makes: ZIP files whose members are stored, and tar files.
#pragma once

#include <algorithm>

#include "tests/data/files.h"

namespace weft::test {

struct ArchiveMember {
  std::string name;  // ends with a slash for a folder
  Bytes bytes = {};
  char tar_type = '0';     // '2': a symbolic link
  unsigned zip_flags = 0;  // 1: encrypted, 0x800: the name is UTF-8
};
using ArchiveMembers = std::vector<ArchiveMember>;

inline void append_number(Bytes& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

inline Bytes zip_of(const ArchiveMembers& members) {
  Bytes zip, directory;
  const auto common = [](Bytes& out, const ArchiveMember& member) {
    const auto size = member.bytes.size();
    append_number(out, member.zip_flags, 2);
    append_number(out, 0, 2);         // stored
    append_number(out, 33 << 16, 4);  // 1 January 1980
    append_number(out, size == 0 ? 0 : crc32(0, member.bytes.data(), static_cast<uInt>(size)), 4);
    append_number(out, size, 4);
    append_number(out, size, 4);
    append_number(out, member.name.size(), 2);
    append_number(out, 0, 2);
  };
  const auto append = [](Bytes& out, const auto& from) {
    out.insert(out.end(), from.begin(), from.end());
  };
  for (const ArchiveMember& member : members) {
    const std::size_t offset = zip.size();
    append(zip, std::string("PK\3\4\24\0", 6));
    common(zip, member);
    append(zip, member.name);
    append(zip, member.bytes);
    append(directory, std::string("PK\1\2\24\3\24\0", 8));
    common(directory, member);
    append(directory, Bytes(10));
    append_number(directory, offset, 4);
    append(directory, member.name);
  }
  const std::size_t offset = zip.size();
  append(zip, directory);
  append(zip, std::string("PK\5\6\0\0\0\0", 8));
  append_number(zip, members.size(), 2);
  append_number(zip, members.size(), 2);
  append_number(zip, directory.size(), 4);
  append_number(zip, offset, 4);
  append_number(zip, 0, 2);
  return zip;
}

inline Bytes tar_of(const ArchiveMembers& members) {
  constexpr std::size_t kBlock = 512;
  Bytes tar;
  const auto octal = [](std::uint64_t value, std::size_t digits) {
    std::string text(digits, '0');
    for (std::size_t i = digits; i-- > 0; value /= 8) text[i] = static_cast<char>('0' + value % 8);
    return text;
  };
  for (const ArchiveMember& member : members) {
    std::string header(kBlock, '\0');
    const auto put = [&](std::size_t at, const std::string& text) {
      header.replace(at, text.size(), text);
    };
    put(0, member.name.substr(0, 100));
    put(100, octal(0644, 7));
    put(124, octal(member.bytes.size(), 11));
    put(136, octal(1, 11));
    put(148, "        ");
    header[156] = member.name.ends_with('/') ? '5' : member.tar_type;
    if (member.tar_type == '2') put(157, "/etc/hostname");
    put(257, std::string("ustar\00000", 8));
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(148, octal(sum, 6) + std::string("\0 ", 2));
    tar.insert(tar.end(), header.begin(), header.end());
    tar.insert(tar.end(), member.bytes.begin(), member.bytes.end());
    tar.resize((tar.size() + kBlock - 1) / kBlock * kBlock);
  }
  tar.resize(tar.size() + 2 * kBlock);
  return tar;
}

// All files below the folder, as members in byte order. `before` stands in front of their names.
inline ArchiveMembers members_of(const std::filesystem::path& folder,
                                 const std::string& before = "") {
  ArchiveMembers members;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    members.push_back({before + entry.path().lexically_relative(folder).string(),
                       Bytes(text.begin(), text.end())});
  }
  std::sort(members.begin(), members.end(),
            [](const ArchiveMember& a, const ArchiveMember& b) { return a.name < b.name; });
  return members;
}

}  // namespace weft::test
