// SPDX-License-Identifier: MIT
#include "data/files/zip_index.h"

#ifdef WEFT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "engine/text.h"

namespace weft::data {

#ifdef WEFT_WITH_LIBDEFLATE

namespace {

constexpr std::size_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30;
constexpr std::uint32_t kEndMagic = 0x06054b50, kEntryMagic = 0x02014b50, kLocalMagic = 0x04034b50;
constexpr std::uint32_t kIn64Bits = 0xffffffff;  // the number is in an extra field
constexpr std::uint32_t kStored = 0, kDeflated = 8;
constexpr std::uint32_t kEncrypted = 1 | 1 << 6 | 1 << 13;  // flags

std::uint32_t number(std::span<const std::uint8_t> bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | bytes[at + i];
  return value;
}

Bytes read_part(const InputFile& file, std::uint64_t offset, std::size_t count) {
  Bytes bytes(count);
  file.read(std::as_writable_bytes(std::span(bytes)), offset);
  return bytes;
}

// Where the directory is: the end record is the last thing in the file, but for a comment.
struct End {
  std::uint32_t entries = 0, bytes = 0, offset = 0;
};

std::optional<End> find_end(const InputFile& file) {
  constexpr std::uint64_t kLongestComment = 0xffff;
  const std::uint64_t size = std::min(file.size(), kEndBytes + kLongestComment);
  const Bytes tail = read_part(file, file.size() - size, static_cast<std::size_t>(size));
  for (std::size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
    if (number(tail, at, 4) != kEndMagic) continue;
    const std::uint32_t disk = number(tail, at + 4, 2), first_disk = number(tail, at + 6, 2);
    const std::uint32_t here = number(tail, at + 8, 2), entries = number(tail, at + 10, 2);
    if (disk != 0 || first_disk != 0 || here != entries || entries == 0xffff) return std::nullopt;
    if (at + kEndBytes + number(tail, at + 20, 2) != tail.size()) return std::nullopt;
    const End end{entries, number(tail, at + 12, 4), number(tail, at + 16, 4)};
    const std::uint64_t place = file.size() - size + at;
    if (std::uint64_t{end.offset} + end.bytes != place) return std::nullopt;
    return end;
  }
  return std::nullopt;
}

// A stream that inflates to `bytes`, to the last byte of both.
bool inflate_whole(std::span<const std::uint8_t> packed, Bytes& bytes) {
  struct Free {
    void operator()(libdeflate_decompressor* inflater) const {
      libdeflate_free_decompressor(inflater);
    }
  };
  thread_local const std::unique_ptr<libdeflate_decompressor, Free> inflater(
      libdeflate_alloc_decompressor());
  if (!inflater) throw std::bad_alloc();
  std::size_t taken = 0, made = 0;
  return libdeflate_deflate_decompress_ex(inflater.get(), packed.data(), packed.size(),
                                          bytes.data(), bytes.size(), &taken,
                                          &made) == LIBDEFLATE_SUCCESS &&
         taken == packed.size() && made == bytes.size();
}

}  // namespace

std::optional<ZipIndex> ZipIndex::open(const std::filesystem::path& file) {
  ZipIndex index(file);
  const std::optional<End> end = find_end(index.file_);
  if (!end) return std::nullopt;
  const Bytes directory = read_part(index.file_, end->offset, end->bytes);
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < end->entries; ++i) {
    if (directory.size() - at < kEntryBytes || number(directory, at, 4) != kEntryMagic) {
      return std::nullopt;
    }
    const std::uint32_t flags = number(directory, at + 8, 2),
                        method = number(directory, at + 10, 2);
    const std::size_t name = number(directory, at + 28, 2);
    const std::size_t rest = name + number(directory, at + 30, 2) + number(directory, at + 32, 2);
    Member member;
    member.is_deflated = method == kDeflated;
    member.checksum = number(directory, at + 16, 4);
    member.packed = number(directory, at + 20, 4);
    member.bytes = number(directory, at + 24, 4);
    member.offset = number(directory, at + 42, 4);
    at += kEntryBytes;
    if (directory.size() - at < rest || (flags & kEncrypted) != 0 ||
        (method != kStored && method != kDeflated) || member.bytes == kIn64Bits ||
        member.packed == kIn64Bits || member.offset >= end->offset) {
      return std::nullopt;
    }
    member.name.assign(reinterpret_cast<const char*>(directory.data()) + at, name);
    at += rest;
    index.members_.push_back(std::move(member));
  }
  if (at != directory.size()) return std::nullopt;
  std::sort(index.members_.begin(), index.members_.end(),
            [](const Member& a, const Member& b) { return a.offset < b.offset; });
  return index;
}

Error ZipIndex::bad(std::size_t member, const std::string& what) const {
  return Error(ErrorKind::data,
               str(file_.path().string(), "/", printable(members_[member].name), ": ", what));
}

Bytes ZipIndex::read(std::size_t place, std::size_t limit) const {
  constexpr std::uint64_t kExtra = 64;          // bytes of a usual extra field, brought in one read
  constexpr std::uint32_t kMostPerByte = 1032;  // that deflate makes of one
  const Member& member = members_[place];
  const auto damaged = [&](const char* what) {
    return bad(place, str("the archive cannot be read: ", what));
  };
  if (member.bytes > limit) {
    throw bad(place, str(member.bytes, " bytes, at most ", limit, " are accepted"));
  }
  if (member.is_deflated ? member.bytes / kMostPerByte > member.packed
                         : member.bytes != member.packed) {
    throw damaged("its directory has lengths that do not fit each other");
  }
  const std::uint64_t least = kLocalBytes + member.name.size() + std::uint64_t{member.packed};
  const std::uint64_t left = file_.size() - member.offset;
  if (least > left) throw damaged("it is cut off");
  Bytes local =
      read_part(file_, member.offset, static_cast<std::size_t>(std::min(least + kExtra, left)));
  const std::size_t name = number(local, 26, 2), begin = kLocalBytes + name + number(local, 28, 2);
  if (number(local, 0, 4) != kLocalMagic || name != member.name.size() ||
      std::memcmp(member.name.data(), local.data() + kLocalBytes, name) != 0) {
    throw damaged("a header is not what the directory says");
  }
  if (begin + std::uint64_t{member.packed} > left) throw damaged("it is cut off");
  if (begin + member.packed > local.size()) {
    local = read_part(file_, member.offset, begin + member.packed);
  }
  Bytes bytes;
  if (member.is_deflated) {
    bytes.resize(member.bytes);
    if (!inflate_whole(std::span(local).subspan(begin, member.packed), bytes)) {
      throw damaged("data that cannot be inflated");
    }
  } else {
    const auto first = local.begin() + begin;
    bytes.assign(first, first + member.packed);
  }
  if (libdeflate_crc32(0, bytes.data(), bytes.size()) != member.checksum) {
    throw damaged("its CRC is wrong");
  }
  return bytes;
}

#else

std::optional<ZipIndex> ZipIndex::open(const std::filesystem::path&) {
  return std::nullopt;
}
Bytes ZipIndex::read(std::size_t, std::size_t) const {
  return {};
}

#endif

}  // namespace weft::data
