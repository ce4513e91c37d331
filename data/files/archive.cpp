// SPDX-License-Identifier: MIT
#include "data/files/archive.h"

#include <algorithm>
#include <array>
#include <memory>

#include "engine/error.h"
#include "engine/text.h"
#ifdef WEFT_WITH_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

namespace weft::data {

bool is_zip(std::span<const std::uint8_t> bytes) {
  constexpr std::array<std::uint8_t, 4> kMember = {'P', 'K', 3, 4}, kEmpty = {'P', 'K', 5, 6};
  const auto begins_with = [&](const auto& magic) {
    return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
  };
  return begins_with(kMember) || begins_with(kEmpty);
}

#ifdef WEFT_WITH_LIBARCHIVE

namespace {

struct Closer {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, Closer>;

Error bad_archive(const std::string& where, archive* reader) {
  const char* why = archive_error_string(reader);
  return Error(ErrorKind::data, str(where, ": the archive cannot be read: ",
                                    why == nullptr ? "it is damaged" : printable(why)));
}

// A damaged part is an error, and so is what libarchive could only read with a warning.
bool next_entry(archive* reader, archive_entry*& entry, const std::string& where) {
  const int code = archive_read_next_header(reader, &entry);
  if (code == ARCHIVE_EOF) return false;
  if (code != ARCHIVE_OK && code != ARCHIVE_WARN) throw bad_archive(where, reader);
  return true;
}

Bytes read_entry(archive* reader, std::size_t limit, const std::string& where) {
  constexpr std::size_t kPart = std::size_t{1} << 20;
  Bytes bytes;
  while (true) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kPart);
    const la_ssize_t got = archive_read_data(reader, bytes.data() + before, kPart);
    if (got < 0) throw bad_archive(where, reader);
    bytes.resize(before + static_cast<std::size_t>(got));
    if (bytes.size() > limit) {
      throw Error(ErrorKind::data, str(where, ": the files in it are larger than allowed (",
                                       limit >> 20, " MiB are left for this one)"));
    }
    if (got == 0) return bytes;
  }
}

}  // namespace

std::vector<ArchivedFile> read_archive(std::span<const std::uint8_t> bytes, std::size_t limit,
                                       const std::function<bool(const std::string& name)>& wanted,
                                       const std::string& where) {
  const Reader reader(archive_read_new());
  if (reader == nullptr) throw std::bad_alloc();
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_format_tar(reader.get());
  archive_read_support_format_zip(reader.get());
  if (archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) {
    throw bad_archive(where, reader.get());
  }
  std::vector<ArchivedFile> files;
  archive_entry* entry = nullptr;
  while (next_entry(reader.get(), entry, where)) {
    const char* path = archive_entry_pathname(entry);
    if (path == nullptr || archive_entry_filetype(entry) != AE_IFREG || !wanted(path)) continue;
    ArchivedFile file{path, {}};
    file.bytes = read_entry(reader.get(), limit, str(where, "/", printable(file.name)));
    limit -= file.bytes.size();
    files.push_back(std::move(file));
  }
  return files;
}

#else

std::vector<ArchivedFile> read_archive(std::span<const std::uint8_t>, std::size_t,
                                       const std::function<bool(const std::string&)>&,
                                       const std::string& where) {
  throw Error(ErrorKind::data,
              str(where, ": this Weft was built without libarchive, and reads no archives"));
}

#endif

}  // namespace weft::data
