// SPDX-License-Identifier: MIT
// Any files in a folder are a data set or one line of error. A single archive is read as a folder.
//
// The input is a list of files: a path that ends with its line, then the number of bytes as two
// bytes, the low one first, then the bytes.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "data/own_data.h"
#include "data/trees/file_tree.h"
#include "tests/fuzz/fuzz.h"

namespace {

namespace fs = std::filesystem;
using weft::fuzz::require;

// Only below the folder.
bool is_inside(const fs::path& path) {
  if (path.empty() || path.is_absolute() || path.string().find('\0') != std::string::npos) {
    return false;
  }
  for (const fs::path& part : path) {
    if (part == "..") return false;
  }
  return true;
}

void write_files(const fs::path& folder, std::string_view input) {
  constexpr int kMostFiles = 64;
  for (int files = 0; files < kMostFiles && !input.empty(); ++files) {
    const std::size_t line = input.find('\n');
    if (line == std::string_view::npos || input.size() < line + 3) return;
    const fs::path path(input.substr(0, line));
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(input[at]); };
    const std::size_t size = byte(line + 1) | byte(line + 2) << 8;
    const std::string_view content = input.substr(line + 3, size);
    input.remove_prefix(std::min(input.size(), line + 3 + size));
    if (!is_inside(path)) continue;
    std::error_code ignored;
    fs::create_directories((folder / path).parent_path(), ignored);
    std::ofstream(folder / path, std::ios::binary) << content;
  }
}

// The file in the folder when it is alone and an archive or a table by its ending, else the folder.
fs::path data_in(const fs::path& folder) {
  const fs::directory_iterator files(folder);
  const bool is_alone = std::distance(fs::begin(files), fs::end(files)) == 1;
  const fs::path first = is_alone ? fs::directory_iterator(folder)->path() : folder;
  const bool is_archive = weft::data::has_archive_ending(first) || first.extension() == ".pkl";
  return is_alone && is_archive && fs::is_regular_file(first) ? first : folder;
}

void check_set(const weft::data::ImageSet& set, const weft::data::Dataset& dataset) {
  const std::int64_t channels = dataset.train.channels;
  require(std::ssize(set.images) == set.count * set.pixels() && std::ssize(set.labels) == set.count,
          "not as many pixels or labels as images");
  require(set.count == 0 || set.channels == channels, "channels that differ");
  for (const std::int32_t label : set.labels) {
    require(label >= 0 && label < std::ssize(dataset.class_names), "a label without a class");
  }
}

void check(const weft::data::Dataset& dataset) {
  require(dataset.train.count > 0 && dataset.test.count > 0, "a set without images");
  require(dataset.class_names.size() >= 2, "fewer than two classes");
  for (const auto* set : {&dataset.train, &dataset.validation, &dataset.test}) {
    check_set(*set, dataset);
  }
  require(std::ssize(dataset.mean) == dataset.train.channels &&
              dataset.stddev.size() == dataset.mean.size(),
          "not as many means as channels");
  for (const float mean : dataset.mean) require(mean >= 0 && mean <= 1, "a mean outside 0 to 1");
  for (const float deviation : dataset.stddev) {
    require(deviation > 0 && std::isfinite(deviation), "a deviation that is not above 0");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const weft::fuzz::TimeLimit limit(4);
  static const fs::path folder =
      fs::temp_directory_path() / ("fuzz_data_set-" + std::to_string(std::clock()) + "-" +
                                   std::to_string(std::random_device{}()));
  fs::create_directories(folder);
  write_files(folder, weft::fuzz::text_of({bytes, size}));
  weft::data::FolderOptions options;
  options.memory = std::uint64_t{64} << 20;
  for (const bool skips : {false, true}) {
    options.skip_broken = skips;
    try {
      check(weft::data::load_own_data(data_in(folder), options));
    } catch (const weft::Error& error) {
      const std::string_view line = error.what();
      require(error.kind() == weft::ErrorKind::data, "an error of another kind");
      require(line.find(folder.string()) != std::string_view::npos,
              "an error that does not name the folder");
      require(line.find('\n') == std::string_view::npos, "an error that is not one line");
    }
  }
  fs::remove_all(folder);
  return 0;
}
