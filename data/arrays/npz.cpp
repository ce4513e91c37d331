// SPDX-License-Identifier: MIT
#include "data/arrays/npz.h"

#include <zlib.h>

#include <set>

#include "data/arrays/npy.h"
#include "engine/error.h"

namespace weft::data {

namespace {

constexpr std::size_t kMostArrays = 0xffff;
constexpr std::uint64_t kMostBytes = 0xffffffff;
// A time that all archives have, so that equal arrays give equal files: 1 January 1980, midnight.
constexpr std::uint16_t kTime = 0, kDate = (0 << 9) | (1 << 5) | 1;
constexpr std::uint16_t kVersion = 20;         // of the format that a reader has to know: 2.0
constexpr std::uint16_t kUtf8Names = 1 << 11;  // a flag of a member
constexpr std::uint16_t kStored = 0;           // the method of compression: none

// Little-endian numbers and text, one after another.
class Record {
 public:
  Record& u16(std::uint64_t value) { return number(value, 2); }
  Record& u32(std::uint64_t value) { return number(value, 4); }
  Record& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Record& number(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  std::string bytes_;
};

struct Member {
  std::string name;  // of the file in the archive
  std::string npy_header;
  std::span<const std::byte> elements;
  std::uint32_t checksum = 0;
  std::uint64_t offset = 0;  // of its local header

  std::uint64_t size() const { return npy_header.size() + elements.size(); }
  // What its local header and its row in the directory have in common.
  void add_to(Record& record) const {
    record.u16(kVersion).u16(kUtf8Names).u16(kStored).u16(kTime).u16(kDate);
    record.u32(checksum).u32(size()).u32(size()).u16(name.size()).u16(0);
  }
};

Member member_of(const NpzArray& array, const std::string& where) {
  std::uint64_t elements = 1;
  bool fits = true;
  for (const std::int64_t extent : array.shape) {
    fits = fits && extent >= 0 &&
           !__builtin_mul_overflow(elements, static_cast<std::uint64_t>(extent), &elements);
  }
  const std::size_t found = array.bytes.size() / npy_element_bytes(array.dtype);
  if (!fits || elements != found) {
    throw Error(ErrorKind::usage, str(where, ": ", found, " values do not fill the ",
                                      array.shape.size(), " dimensions of '", array.name, "'"));
  }
  Member member{array.name + ".npy", npy_header(array.dtype, array.shape), array.bytes};
  const auto add = [&](const void* bytes, std::size_t size) {
    if (size == 0) return;  // zlib starts anew for a null pointer
    member.checksum = static_cast<std::uint32_t>(
        crc32_z(member.checksum, static_cast<const Bytef*>(bytes), size));
  };
  add(member.npy_header.data(), member.npy_header.size());
  add(member.elements.data(), member.elements.size());
  return member;
}

std::vector<Member> members_of(std::span<const NpzArray> arrays, const std::string& where) {
  std::vector<Member> members;
  std::set<std::string_view> names;
  std::uint64_t bytes = 0;
  for (const NpzArray& array : arrays) {
    if (!names.insert(array.name).second) {
      throw Error(ErrorKind::usage, str(where, ": two arrays are named '", array.name, "'"));
    }
    bytes += array.bytes.size() + 2 * array.name.size() + 1024;  // with room for headers
    if (bytes > kMostBytes || array.name.size() > 1024 || names.size() > kMostArrays) {
      throw Error(ErrorKind::usage,
                  str(where, ": expected at most ", kMostArrays, " arrays of 4 GiB in all"));
    }
  }
  for (const NpzArray& array : arrays) members.push_back(member_of(array, where));
  return members;
}

}  // namespace

void write_npz(const OutputPath& to, std::span<const NpzArray> arrays) {
  std::vector<Member> members = members_of(arrays, to.path().string());
  AtomicFile file(to);
  std::uint64_t written = 0;
  const auto write = [&](auto bytes) {
    file.write(bytes);
    written += bytes.size();
  };
  for (Member& member : members) {
    member.offset = written;
    Record header;
    member.add_to(header.text("PK\3\4"));
    write(std::string_view(header.text(member.name).bytes()));
    write(std::string_view(member.npy_header));
    write(member.elements);
  }
  Record directory;
  for (const Member& member : members) {
    // No comment, first disk, no attributes.
    member.add_to(directory.text("PK\1\2").u16(kVersion));
    directory.u16(0).u16(0).u16(0).u32(0).u32(member.offset).text(member.name);
  }
  Record end;
  end.text("PK\5\6").u16(0).u16(0).u16(members.size()).u16(members.size());
  end.u32(directory.bytes().size()).u32(written).u16(0);
  file.write(directory.bytes());
  file.write(end.bytes());
  file.commit();
}

}  // namespace weft::data
