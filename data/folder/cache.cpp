// SPDX-License-Identifier: MIT
#include "data/folder/cache.h"

#include <chrono>
#include <cstring>
#include <span>

#include "data/files/file_io.h"
#include "data/files/host_memory.h"
#include "data/files/sha256.h"
#include "engine/error.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

// The number changes when decoding or fitting changes a pixel, or the format of the file.
constexpr std::string_view kMagic = "weft pictures 2 ";
constexpr std::size_t kDigits = 64;                               // of a SHA-256
constexpr std::size_t kHeader = kMagic.size() + 2 * kDigits + 2;  // a space and a line feed

std::span<const std::uint8_t> bytes_in(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string text_of(const PictureShape& shape) {
  return str(shape.channels, ' ', shape.height, ' ', shape.width, ' ', name_of(shape.fit), ' ',
             shape.sample_bits);
}

void append(Bytes& out, const void* from, std::size_t count) {
  const auto* bytes = static_cast<const std::uint8_t*>(from);
  out.insert(out.end(), bytes, bytes + count);
}

void append_number(Bytes& out, std::int64_t value) {
  append(out, &value, sizeof(value));
}

void append_set(Bytes& out, const ImageSet& set) {
  for (const std::int64_t n : {set.count, set.channels, set.height, set.width}) {
    append_number(out, n);
  }
  append(out, set.images.data(), set.images.size());
  append(out, set.labels.data(), set.labels.size() * sizeof(std::int32_t));
}

constexpr std::string_view kPrefix = "pictures-";
constexpr auto kKept = std::chrono::hours(24 * 30);  // since the last use of a file

// A file that cannot be removed stays: it is in nobody's way.
void remove_unused(const fs::path& folder) {
  std::error_code ignored;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    const bool is_cache = entry->path().filename().string().starts_with(kPrefix);
    const auto used = entry->last_write_time(ignored);
    if (is_cache && !ignored && now - used > kKept) fs::remove(entry->path(), ignored);
  }
}

// Takes parts of a checked payload in order; `ok` turns false at the first one that is not there.
struct Reader {
  std::span<const std::uint8_t> left;
  bool ok = true;

  std::span<const std::uint8_t> take(std::size_t count) {
    ok = ok && count <= left.size();
    if (!ok) return {};
    const auto taken = left.first(count);
    left = left.subspan(count);
    return taken;
  }
  std::int64_t number(std::int64_t most) {
    std::int64_t value = 0;
    const auto taken = take(sizeof(value));
    if (ok) std::memcpy(&value, taken.data(), sizeof(value));
    ok = ok && value >= 0 && value <= most;
    return ok ? value : 0;
  }
  ImageSet set() {
    constexpr std::int64_t kMostImages = std::int64_t{1} << 31;
    ImageSet set;
    set.count = number(kMostImages);
    set.channels = number(3);
    set.height = number(kMaxDatasetSide);
    set.width = number(kMaxDatasetSide);
    const auto pixels = take(static_cast<std::size_t>(set.count * set.pixels()));
    set.images.assign(pixels.begin(), pixels.end());
    const auto labels = take(static_cast<std::size_t>(set.count) * sizeof(std::int32_t));
    set.labels.resize(labels.size() / sizeof(std::int32_t));
    if (!labels.empty()) std::memcpy(set.labels.data(), labels.data(), labels.size());
    return set;
  }
};

}  // namespace

CacheEntry cache_entry(const TreePath& folder, const PictureTree& tree,
                       const FolderOptions& options) {
  std::error_code unknown;
  const fs::path absolute = fs::weakly_canonical(fs::absolute(folder.string(), unknown), unknown);
  const std::string place =
      str(absolute.string(), '\n', text_of(options.shape), '\n', static_cast<int>(options.holding));
  std::string key = str(kMagic, place, '\n', folder.stamp(), '\n', reads_webp(), reads_tiff(),
                        reads_heif(), '\n');
  for (const auto* files : {&tree.train, &tree.validation, &tree.test}) {
    for (const PictureFile& file : *files) {
      key += str(file.path, '\0', file.label, ' ', file.bytes, ' ', file.modified, ' ',
                 file.problem, '\n');
    }
    key += '\n';
  }
  return {options.cache_folder / str(kPrefix, sha256_hex(bytes_in(place)).substr(0, 16)),
          sha256_hex(bytes_in(key))};
}

std::optional<DecodedPictures> read_cache(const CacheEntry& entry) {
  std::error_code unknown;
  if (!fs::is_regular_file(entry.path, unknown)) return std::nullopt;
  try {
    const InputFile file(entry.path);
    const std::uint64_t room = available_memory();
    if (file.size() < kHeader || (room > 0 && file.size() > room / 2)) return std::nullopt;
    std::string header(kHeader, '\0');
    file.read(std::as_writable_bytes(std::span(header)), 0);
    if (!header.starts_with(str(kMagic, entry.key, ' '))) return std::nullopt;
    Bytes payload(file.size() - kHeader);
    file.read(std::as_writable_bytes(std::span(payload)), kHeader);
    if (header != str(kMagic, entry.key, ' ', sha256_hex(payload), '\n')) return std::nullopt;
    Reader reader{payload};
    DecodedPictures pictures;
    pictures.train = reader.set();
    pictures.validation = reader.set();
    pictures.test = reader.set();
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    for (std::int64_t left = reader.number(kMost); reader.ok && left > 0; --left) {
      const auto why = reader.take(static_cast<std::size_t>(reader.number(kMost)));
      pictures.skipped.emplace_back(why.begin(), why.end());
    }
    pictures.sample_bits = static_cast<int>(reader.number(16));
    pictures.stated_depths = reader.number(kMost);
    pictures.found_depths = reader.number(kMost);
    if (!reader.ok || !reader.left.empty()) return std::nullopt;
    fs::last_write_time(entry.path, fs::file_time_type::clock::now(), unknown);  // of its last use
    return pictures;
  } catch (const Error&) {
    return std::nullopt;  // it went away, or cannot be read: the pictures are there
  }
}

void write_cache(const CacheEntry& entry, const DecodedPictures& pictures) {
  std::error_code code;
  fs::create_directories(entry.path.parent_path(), code);
  if (code) {
    throw Error(ErrorKind::data, str("could not make the folder ",
                                     entry.path.parent_path().string(), ": ", code.message()));
  }
  Bytes payload;
  for (const ImageSet* set : {&pictures.train, &pictures.validation, &pictures.test}) {
    append_set(payload, *set);
  }
  append_number(payload, std::ssize(pictures.skipped));
  for (const std::string& why : pictures.skipped) {
    append_number(payload, std::ssize(why));
    append(payload, why.data(), why.size());
  }
  for (const std::int64_t n :
       {std::int64_t{pictures.sample_bits}, pictures.stated_depths, pictures.found_depths}) {
    append_number(payload, n);
  }
  AtomicFile file(entry.path);
  file.write(str(kMagic, entry.key, ' ', sha256_hex(payload), '\n'));
  file.write(std::as_bytes(std::span<const std::uint8_t>(payload)));
  file.commit();
  remove_unused(entry.path.parent_path());
}

}  // namespace weft::data
