// SPDX-License-Identifier: MIT
#include "data/files/archive.h"

#include <locale.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <new>
#include <utility>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "engine/text.h"
#ifdef WEFT_WITH_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

namespace weft::data {
namespace fs = std::filesystem;

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

Error bad(const std::string& where, const std::string& what) {
  return Error(ErrorKind::data, str(where, ": ", what));
}

// What libarchive reads a file through. It is held open, so that nobody can exchange it.
struct FileSource {
  InputFile file;
  std::uint64_t at = 0;
  std::vector<std::byte> part = std::vector<std::byte>(std::size_t{1} << 18);
  std::size_t next = kFirst;  // how much is read at once: more and more, until a jump

  static constexpr std::size_t kFirst = std::size_t{1} << 12;

  static FileSource& of(void* source) { return *static_cast<FileSource*>(source); }

  static la_ssize_t read(archive* reader, void* opened, const void** out) {
    FileSource& source = of(opened);
    const std::uint64_t left = source.file.size() - std::min(source.at, source.file.size());
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, source.next));
    source.next = std::min(2 * source.next, source.part.size());
    try {
      source.file.read(std::span(source.part).first(count), source.at);
    } catch (const Error& error) {  // may not pass through a library of C
      archive_set_error(reader, EIO, "%s", error.what());
      return ARCHIVE_FATAL;
    }
    source.at += count;
    *out = source.part.data();
    return static_cast<la_ssize_t>(count);
  }
  static la_int64_t skip(archive*, void* opened, la_int64_t count) {
    FileSource& source = of(opened);
    const std::uint64_t left = source.file.size() - std::min(source.at, source.file.size());
    const std::uint64_t skipped = std::min(left, static_cast<std::uint64_t>(count));
    source.at += skipped;
    source.next = kFirst;
    return static_cast<la_int64_t>(skipped);
  }
  static la_int64_t seek(archive*, void* opened, la_int64_t offset, int whence) {
    FileSource& source = of(opened);
    const auto size = static_cast<la_int64_t>(source.file.size());
    const la_int64_t base = whence == SEEK_SET   ? 0
                            : whence == SEEK_CUR ? static_cast<la_int64_t>(source.at)
                                                 : size;
    source.at = static_cast<std::uint64_t>(std::clamp<la_int64_t>(base + offset, 0, size));
    source.next = kFirst;
    return static_cast<la_int64_t>(source.at);
  }
};

// libarchive converts the names that an archive calls UTF-8 to the locale of the thread, and drops
// those that it cannot convert. Where there is no such locale, they are dropped.
class Utf8Names {
 public:
  Utf8Names() {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});  // reads files
    if (utf8 != locale_t{}) before_ = uselocale(utf8);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;
  ~Utf8Names() {
    if (before_ != locale_t{}) uselocale(before_);
  }

 private:
  locale_t before_ = {};
};

// UTF-8 where the archive says so, or where its bytes are that; else its bytes.
std::string name_of(archive_entry* entry) {
  const char* raw = archive_entry_pathname(entry);
  if (raw != nullptr && is_utf8(raw)) return raw;
  const char* text = archive_entry_pathname_utf8(entry);
  return text != nullptr ? text : raw != nullptr ? raw : "";
}

}  // namespace

struct ArchiveReader::Open {
  std::string where;
  std::optional<FileSource> source;
  std::unique_ptr<archive, Closer> reader{archive_read_new()};
  std::uint64_t most = kMostArchived;
  std::string name;  // of the current entry
  std::uint64_t claimed = 0;

  Error bad_archive(const std::string& place) const {
    const char* why = archive_error_string(reader.get());
    return bad(place, str("the archive cannot be read: ",
                          why == nullptr ? "it is damaged" : printable(why)));
  }

  void prepare(std::uint64_t size) {
    if (reader == nullptr) throw std::bad_alloc();
    most = std::max(most, 2 * size);
    archive_read_support_filter_gzip(reader.get());
    archive_read_support_filter_bzip2(reader.get());
    archive_read_support_filter_xz(reader.get());
    archive_read_support_format_tar(reader.get());
    archive_read_support_format_zip(reader.get());
  }
};

ArchiveReader::ArchiveReader(const fs::path& file) : open_(std::make_unique<Open>()) {
  open_->where = file.string();
  open_->source.emplace(FileSource{InputFile(file)});
  archive* reader = open_->reader.get();
  open_->prepare(open_->source->file.size());
  archive_read_set_read_callback(reader, FileSource::read);
  archive_read_set_skip_callback(reader, FileSource::skip);
  archive_read_set_seek_callback(reader, FileSource::seek);
  archive_read_set_callback_data(reader, &*open_->source);
  if (archive_read_open1(reader) != ARCHIVE_OK) throw open_->bad_archive(open_->where);
}

ArchiveReader::ArchiveReader(std::span<const std::uint8_t> bytes, std::string where)
    : open_(std::make_unique<Open>()) {
  open_->where = std::move(where);
  open_->prepare(bytes.size());
  if (archive_read_open_memory(open_->reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) {
    throw open_->bad_archive(open_->where);
  }
}

// A damaged part is an error, and so is what libarchive could only read with a warning.
std::optional<ArchiveEntry> ArchiveReader::next() {
  const Utf8Names names;
  archive_entry* entry = nullptr;
  const int code = archive_read_next_header(open_->reader.get(), &entry);
  if (code == ARCHIVE_EOF) return std::nullopt;
  if (code != ARCHIVE_OK && code != ARCHIVE_WARN) throw open_->bad_archive(open_->where);
  const auto type = archive_entry_filetype(entry);
  const bool is_link = archive_entry_hardlink(entry) != nullptr;
  ArchiveEntry found{.name = name_of(entry)};
  found.kind = is_link            ? ArchiveEntry::Kind::other
               : type == AE_IFREG ? ArchiveEntry::Kind::file
               : type == AE_IFDIR ? ArchiveEntry::Kind::folder
                                  : ArchiveEntry::Kind::other;
  found.bytes = static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_entry_size(entry)));
  found.modified =  // of a hostile archive any number
      static_cast<std::int64_t>(static_cast<std::uint64_t>(archive_entry_mtime(entry)) *
                                    1'000'000'000 +
                                static_cast<std::uint64_t>(archive_entry_mtime_nsec(entry)));
  found.is_encrypted = archive_entry_is_data_encrypted(entry) == 1;
  const auto inflated = static_cast<std::uint64_t>(
      std::max<la_int64_t>(0, archive_filter_bytes(open_->reader.get(), 0)));
  if (std::max(found.bytes, inflated) > open_->most) {
    throw bad(open_->where, str("the files in it have more than ", open_->most >> 20, " MiB"));
  }
  if (found.name.empty()) throw bad(open_->where, "a name in it cannot be read");
  open_->name = found.name;
  open_->claimed = found.bytes;
  return found;
}

Bytes ArchiveReader::read(std::size_t limit) {
  constexpr std::size_t kPart = std::size_t{1} << 20;
  const std::string where = str(open_->where, "/", printable(open_->name));
  Bytes bytes;
  // One byte more than is claimed shows the end. The claim is not believed.
  std::size_t part = std::clamp<std::size_t>(open_->claimed + 1, 1024, kPart);
  while (true) {
    const std::size_t before = bytes.size();
    bytes.resize(before + part);
    const la_ssize_t got = archive_read_data(open_->reader.get(), bytes.data() + before, part);
    if (got < 0) throw open_->bad_archive(where);
    bytes.resize(before + static_cast<std::size_t>(got));
    if (bytes.size() > limit) {
      throw bad(where, str("the files in it are larger than allowed (", limit >> 20,
                           " MiB are left for this one)"));
    }
    if (static_cast<std::size_t>(got) < part) return bytes;
    part = kPart;
  }
}

#else

struct ArchiveReader::Open {};

namespace {

Error without_libarchive(const std::string& where) {
  return Error(ErrorKind::data,
               str(where, ": this Weft was built without libarchive, and reads no archives"));
}

}  // namespace

ArchiveReader::ArchiveReader(const fs::path& file) {
  throw without_libarchive(file.string());
}
ArchiveReader::ArchiveReader(std::span<const std::uint8_t>, std::string where) {
  throw without_libarchive(where);
}
std::optional<ArchiveEntry> ArchiveReader::next() {
  return std::nullopt;
}
Bytes ArchiveReader::read(std::size_t) {
  return {};
}

#endif

ArchiveReader::~ArchiveReader() = default;

std::vector<ArchivedFile> read_archive(std::span<const std::uint8_t> bytes, std::size_t limit,
                                       const std::function<bool(const std::string& name)>& wanted,
                                       const std::string& where) {
  ArchiveReader reader(bytes, where);
  std::vector<ArchivedFile> files;
  while (std::optional<ArchiveEntry> entry = reader.next()) {
    if (entry->kind != ArchiveEntry::Kind::file || !wanted(entry->name)) continue;
    files.push_back({std::move(entry->name), reader.read(limit)});
    limit -= files.back().bytes.size();
  }
  return files;
}

}  // namespace weft::data
