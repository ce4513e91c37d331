// SPDX-License-Identifier: MIT
// Parsing and checking IDX.
#include "data/sets/idx.h"

#include <algorithm>

#include "data/files/counted.h"
#include "engine/error.h"

namespace weft::data {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08, kInt32 = 0x0c;

Error bad(const std::string& name, const std::string& what) {
  return Error(ErrorKind::data, str(name, ": ", what));
}

struct Header {
  std::vector<std::int64_t> extents;
  std::size_t bytes = 0;     // of the header
  std::size_t elements = 0;  // bytes behind it
};

Header read_header(std::span<const std::uint8_t> bytes, int rank, const std::string& name) {
  if (bytes.size() < 4) {
    throw bad(name, str("too short for an IDX header: ", bytes.size(), " bytes"));
  }
  if (bytes[0] != 0 || bytes[1] != 0) {
    throw bad(name, str("not an IDX file: expected it to begin with two zero bytes, found ",
                        int{bytes[0]}, " and ", int{bytes[1]}));
  }
  if (bytes[2] != kUnsignedByte) {
    throw bad(name, str("IDX type: expected 8 (unsigned bytes), found ", int{bytes[2]}));
  }
  if (rank == kImageRank) rank = bytes[3] == 4 ? 4 : 3;
  if (int{bytes[3]} != rank) {
    throw bad(name, str("IDX rank: expected ", rank, rank == 1 ? " (labels)" : " (images)",
                        ", found ", int{bytes[3]}));
  }
  Header header{{}, 4 + 4 * static_cast<std::size_t>(rank), 1};
  if (bytes.size() < header.bytes) {
    throw bad(name, str("IDX header cut off: ", bytes.size(), " of ", header.bytes, " bytes"));
  }
  for (std::size_t at = 4; at < header.bytes; at += 4) {
    const std::size_t extent = std::size_t{bytes[at]} << 24 | std::size_t{bytes[at + 1]} << 16 |
                               std::size_t{bytes[at + 2]} << 8 | bytes[at + 3];
    if (extent != 0 && header.elements > kMaxIdxBytes / extent) {
      throw bad(name, str("IDX extents ask for more than ", kMaxIdxBytes, " bytes"));
    }
    header.elements *= extent;
    header.extents.push_back(static_cast<std::int64_t>(extent));
  }
  return header;
}

Error wrong_length(const std::string& name, const Header& header, const std::string& found) {
  return bad(name, str("length: the IDX header asks for ", header.elements,
                       " bytes of data, found ", found));
}

}  // namespace

IdxArray parse_idx(Bytes bytes, int rank, const std::string& name) {
  Header header = read_header(bytes, rank, name);
  if (bytes.size() - header.bytes != header.elements) {
    throw wrong_length(name, header, std::to_string(bytes.size() - header.bytes));
  }
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header.bytes));
  return {.extents = std::move(header.extents), .values = std::move(bytes), .name = name};
}

Bytes read_idx_bytes(const TreePath& path, int rank) {
  constexpr std::size_t kLongestHeader = 20;
  Bytes bytes = path.read(kMaxIdxBytes);
  if (!is_gzip(bytes)) return bytes;
  const std::string name = path.string();
  const Header header = read_header(inflate_gzip_front(bytes, kLongestHeader, name), rank, name);
  const std::size_t size = header.bytes + header.elements;
  Bytes inflated = inflate_gzip_front(bytes, size + 1, name);
  if (inflated.size() > size) throw wrong_length(name, header, "more");
  return inflated;
}

IdxArray read_idx(const TreePath& path, int rank) {
  return parse_idx(read_idx_bytes(path, rank), rank, path.string());
}

IdxArray read_idx_labels(const TreePath& path) {
  constexpr std::size_t kHeader = 12;  // of rank 2
  const std::string name = path.string();
  Bytes bytes = path.read(kMaxIdxBytes);
  const auto begin = bytes.begin();
  const auto length = static_cast<std::ptrdiff_t>(std::min(bytes.size(), kHeader));
  const Bytes front =
      is_gzip(bytes) ? inflate_gzip_front(bytes, kHeader, name) : Bytes(begin, begin + length);
  if (front.size() < kHeader || front[2] != kInt32 || front[3] != 2) return read_idx(path, 1);
  const auto word = [](const Bytes& in, std::size_t at) {
    return std::uint32_t{in[at]} << 24 | std::uint32_t{in[at + 1]} << 16 |
           std::uint32_t{in[at + 2]} << 8 | in[at + 3];
  };
  const std::size_t rows = word(front, 4), columns = word(front, 8);
  if (columns == 0) throw bad(name, "IDX labels without a column");
  if (rows > kMaxIdxBytes / 4 / columns) {
    throw bad(name, str("IDX extents ask for more than ", kMaxIdxBytes, " bytes"));
  }
  const std::size_t size = kHeader + 4 * rows * columns;
  if (is_gzip(bytes)) bytes = inflate_gzip_front(bytes, size + 1, name);
  if (bytes.size() != size) {
    throw bad(name, str("length: the IDX header asks for ", rows, " x ", columns,
                        " numbers of 4 bytes, found ",
                        bytes.size() > size ? "more" : str(bytes.size() - kHeader, " bytes")));
  }
  IdxArray labels{.extents = {static_cast<std::int64_t>(rows)}, .values = {}, .name = name};
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint32_t label = word(bytes, kHeader + 4 * row * columns);
    if (label > 255)
      throw bad(name, str("label ", label, " at index ", row, ", expected 0 to 255"));
    labels.values.push_back(static_cast<std::uint8_t>(label));
  }
  return labels;
}

ImageSet join_images_and_labels(IdxArray images, IdxArray labels, int classes) {
  const std::size_t rank = images.extents.size();
  if ((rank != 3 && rank != 4) || labels.extents.size() != 1) {
    throw Error(ErrorKind::usage, "images of rank 3 or 4 and labels of rank 1 expected");
  }
  const std::int64_t channels = rank == 4 ? images.extents[1] : 1;
  if (channels != 1 && channels != 3) {
    throw bad(images.name,
              str(channels, " channels, expected 1 or 3 in (count, channels, height, ", "width)"));
  }
  const std::int64_t count = images.extents[0];
  if (count != labels.extents[0]) {
    throw bad(images.name, str(counted(count, "image"), ", but ",
                               counted(labels.extents[0], "label"), " in ", labels.name));
  }
  if (images.values.empty()) throw bad(images.name, "holds no pixels");
  const auto wrong = std::find_if(labels.values.begin(), labels.values.end(),
                                  [&](std::uint8_t label) { return label >= classes; });
  if (wrong != labels.values.end()) {
    throw bad(labels.name, str("label ", int{*wrong}, " at index ", wrong - labels.values.begin(),
                               ", expected 0 to ", classes - 1));
  }
  return {.count = count,
          .channels = channels,
          .height = images.extents[rank - 2],
          .width = images.extents[rank - 1],
          .images = std::move(images.values),
          .labels = {labels.values.begin(), labels.values.end()}};
}

void transpose_images(ImageSet& set) {
  if (set.images.empty()) return;
  const std::size_t height = static_cast<std::size_t>(set.height);
  const std::size_t width = static_cast<std::size_t>(set.width);
  Bytes swapped(height * width);
  for (std::size_t image = 0; image + swapped.size() <= set.images.size();
       image += swapped.size()) {
    std::uint8_t* pixels = set.images.data() + image;
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) swapped[x * height + y] = pixels[y * width + x];
    }
    std::copy(swapped.begin(), swapped.end(), pixels);
  }
  std::swap(set.height, set.width);
}

}  // namespace weft::data
