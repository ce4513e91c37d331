// SPDX-License-Identifier: MIT
#include "data/folder/cache.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "data/files/file_io.h"
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

template <class T>
std::span<const std::uint8_t> raw(const T* first, std::size_t count) {
  return {reinterpret_cast<const std::uint8_t*>(first), count * sizeof(T)};
}

// Calls part(bytes) for all that the file holds behind its header, in order.
template <class Part>
void for_each_part(const DecodedPictures& pictures, Part part) {
  const auto number = [&](std::int64_t value) { part(raw(&value, 1)); };
  for (const ImageSet* set : {&pictures.train, &pictures.validation, &pictures.test}) {
    for (const std::int64_t n : {set->count, set->channels, set->height, set->width}) number(n);
    part(raw(set->images.data(), set->images.size()));
    part(raw(set->labels.data(), set->labels.size()));
  }
  number(std::ssize(pictures.skipped));
  for (const std::string& why : pictures.skipped) {
    number(std::ssize(why));
    part(bytes_in(why));
  }
  number(pictures.sample_bits);
  number(pictures.stated_depths);
  number(pictures.found_depths);
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

// Takes what is behind the header, part by part, and hashes it. `ok` turns false at the first part
// that is not there, or a number that cannot be.
struct Reader {
  const InputFile& file;
  std::uint64_t at = kHeader;
  Sha256 hash = {};
  bool ok = true;

  // Fills `count` elements of an empty array.
  template <class Array>
  void take(Array& to, std::int64_t count) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;  // hashed while it is in the cache
    constexpr std::size_t kSize = sizeof(typename Array::value_type);
    ok = ok && static_cast<std::uint64_t>(count) <= (file.size() - at) / kSize;
    if (!ok) return;
    to.resize(static_cast<std::size_t>(count));
    const auto all = std::as_writable_bytes(std::span(to));
    for (std::size_t done = 0; done < all.size(); done += kPiece) {
      const auto piece = all.subspan(done, std::min(kPiece, all.size() - done));
      file.read(piece, at);
      hash.add(raw(piece.data(), piece.size()));
      at += piece.size();
    }
  }
  std::int64_t number(std::int64_t most) {
    std::vector<std::int64_t> value;
    take(value, 1);
    ok = ok && value[0] >= 0 && value[0] <= most;
    return ok ? value[0] : 0;
  }
  ImageSet set() {
    constexpr std::int64_t kMostImages = std::int64_t{1} << 31;
    ImageSet set;
    set.count = number(kMostImages);
    set.channels = number(3);
    set.height = number(kMaxDatasetSide);
    set.width = number(kMaxDatasetSide);
    take(set.images, set.count * set.pixels());
    take(set.labels, set.count);
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
                        reads_heif(), reads_large_jpeg(), '\n');
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
    if (file.size() < kHeader) return std::nullopt;
    std::string header(kHeader, '\0');
    file.read(std::as_writable_bytes(std::span(header)), 0);
    if (!header.starts_with(str(kMagic, entry.key, ' '))) return std::nullopt;
    Reader reader{file};
    DecodedPictures pictures;
    pictures.train = reader.set();
    pictures.validation = reader.set();
    pictures.test = reader.set();
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    for (std::int64_t left = reader.number(kMost); reader.ok && left > 0; --left) {
      reader.take(pictures.skipped.emplace_back(), reader.number(kMost));
    }
    pictures.sample_bits = static_cast<int>(reader.number(16));
    pictures.stated_depths = reader.number(kMost);
    pictures.found_depths = reader.number(kMost);
    if (!reader.ok || reader.at != file.size()) return std::nullopt;
    if (header != str(kMagic, entry.key, ' ', reader.hash.hex(), '\n')) return std::nullopt;
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
  Sha256 hash;
  for_each_part(pictures, [&](std::span<const std::uint8_t> part) { hash.add(part); });
  AtomicFile file(entry.path);
  file.write(str(kMagic, entry.key, ' ', hash.hex(), '\n'));
  for_each_part(pictures,
                [&](std::span<const std::uint8_t> part) { file.write(std::as_bytes(part)); });
  file.commit();
  remove_unused(entry.path.parent_path());
}

}  // namespace weft::data
