// SPDX-License-Identifier: MIT
#include "data/tables/write.h"

#include <span>
#include <string>
#include <vector>

#include "data/arrays/npz.h"
#include "engine/error.h"

namespace weft::data {
namespace {

std::string csv_text(const ImageSet& set, const std::vector<std::string>& class_names) {
  std::string text = "label";
  for (std::int64_t i = 0; i < set.pixels(); ++i) text += str(",pixel", i);
  text += '\n';
  for (std::int64_t image = 0; image < set.count; ++image) {
    const auto label = static_cast<std::size_t>(set.labels[static_cast<std::size_t>(image)]);
    text += str('"', class_names[label], '"');
    for (const std::uint8_t value : interleaved(set, image)) {
      text += ',';
      text += std::to_string(value);
    }
    text += '\n';
  }
  return text;
}

// All pixels with the channels last, as Keras has them.
std::vector<std::uint8_t> channels_last(const ImageSet& set) {
  std::vector<std::uint8_t> pixels;
  pixels.reserve(set.images.size());
  for (std::int64_t image = 0; image < set.count; ++image) {
    const std::vector<std::uint8_t> one = interleaved(set, image);
    pixels.insert(pixels.end(), one.begin(), one.end());
  }
  return pixels;
}

// The header, and then the elements.
std::vector<std::byte> idx_bytes(const std::vector<std::int64_t>& extents,
                                 std::span<const std::uint8_t> elements) {
  constexpr std::byte kUnsignedByte{8};
  std::vector<std::byte> bytes = {std::byte{0}, std::byte{0}, kUnsignedByte,
                                  static_cast<std::byte>(extents.size())};
  for (const std::int64_t extent : extents) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::byte>(extent >> shift));
  }
  const auto raw = std::as_bytes(elements);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
  return bytes;
}

void write_idx_set(const ImageSet& set, const std::string& name, const Directory& folder) {
  const bool is_grey = set.channels == 1;
  std::vector<std::int64_t> extents = {set.count, set.height, set.width};
  if (!is_grey) extents.insert(extents.begin() + 1, set.channels);
  write_new_file(folder, str(name, is_grey ? "-images-idx3-ubyte" : "-images-idx4-ubyte"),
                 idx_bytes(extents, set.images));
  const std::vector<std::uint8_t> labels(set.labels.begin(), set.labels.end());
  write_new_file(folder, name + "-labels-idx1-ubyte", idx_bytes({set.count}, labels));
}

}  // namespace

void write_csv(const Dataset& dataset, const std::filesystem::path& folder) {
  for (const std::string& name : dataset.class_names) {
    if (name.find_first_of("\"\r\n") != std::string::npos) {
      throw Error(ErrorKind::data, str("the class ", name, " cannot be written into a CSV file"));
    }
  }
  write_new_folder(folder, [&](const Directory& inside) {
    const auto write = [&](const ImageSet& set, const std::string& name) {
      const std::string text = csv_text(set, dataset.class_names);
      write_new_file(inside, name, std::as_bytes(std::span(text)));
    };
    write(dataset.train, "train.csv");
    if (dataset.validation.count > 0) write(dataset.validation, "validation.csv");
    write(dataset.test, "test.csv");
  });
}

void write_npz(const Dataset& dataset, const OutputPath& to) {
  const std::pair<const ImageSet*, std::string> sets[] = {
      {&dataset.train, "train"}, {&dataset.validation, "val"}, {&dataset.test, "test"}};
  std::vector<std::vector<std::uint8_t>> pixels;
  pixels.reserve(std::size(sets));
  std::vector<NpzArray> arrays;
  for (const auto& [set, name] : sets) {
    if (set->count == 0) continue;
    std::vector<std::int64_t> shape = {set->count, set->height, set->width};
    if (set->channels > 1) shape.push_back(set->channels);
    const std::span<const std::uint8_t> images = pixels.emplace_back(channels_last(*set));
    arrays.emplace_back("x_" + name, shape, images);
    arrays.emplace_back("y_" + name, std::vector<std::int64_t>{set->count},
                        std::span<const std::int32_t>(set->labels));
  }
  write_npz(to, arrays);
}

void write_idx(const Dataset& dataset, const std::filesystem::path& folder) {
  if (dataset.class_names.size() > 256) {
    throw Error(ErrorKind::data, str(dataset.class_names.size(), " classes are too many for IDX ",
                                     "files, whose labels are bytes"));
  }
  if (dataset.validation.count > 0) {
    throw Error(ErrorKind::data, "IDX files have no name for a validation set");
  }
  write_new_folder(folder, [&](const Directory& inside) {
    write_idx_set(dataset.train, "train", inside);
    write_idx_set(dataset.test, "t10k", inside);
  });
}

}  // namespace weft::data
