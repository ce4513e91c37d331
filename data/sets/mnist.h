// SPDX-License-Identifier: MIT
// The data sets Weft knows by name: MNIST and its drop-in replacements, and the procedural ones.
//
//   mnist, fashion-mnist, kmnist   train-images-idx3-ubyte and three more files
//   emnist-digits                  emnist-digits-train-images-idx3-ubyte ..., stored transposed
//   mnist-hands                    MNIST's files, and more hands (hands.h)
//   digits                         drawn by digits.h, no files
//   shapes                         drawn by shapes.h, no files
//
// Files may also be spelt train-images.idx3-ubyte, and may be gzip (told by magic) with or without
// ".gz". They are looked for in
//   1. FindOptions::data_dir, if given: then nowhere else;
//   2. $WEFT_DATA_DIR, if set;
//   3. data/NAME/ below the current directory.
// 1 and 2 may hold the files themselves or a folder NAME with them, and all three what
// torchvision.datasets makes (MNIST/raw, FashionMNIST/raw, ...). fashion-mnist and kmnist share
// MNIST's file names, so a folder not called after them is taken only if it does not hold MNIST.
//
// MNIST's own files are used only when their SHA-256 is right. Pixels: 0 background, 255 ink.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/sets/dataset.h"

namespace weft::data {

// The mean and the standard deviation of MNIST's training pixels, with 255 as 1, as PyTorch's
// example rounds them.
struct KnownStatistics {
  double mean, stddev;
};
inline constexpr KnownStatistics kMnistStatistics = {0.1307, 0.3081};

struct FindOptions {
  std::string data_dir;                         // empty: search
  bool allow_download = false;                  // only MNIST can be downloaded
  bool test_only = false;                       // neither training images nor statistics
  std::function<void(const std::string&)> log;  // one line of progress; may be empty
  // Where to download from: URLs that end in "/". Empty: the two public mirrors.
  std::vector<std::string> mirrors;
};

// What `weft data info` prints.
struct DatasetInfo {
  std::string_view name, title, homepage;
  bool downloadable = false, generated = false;
  std::optional<std::filesystem::path> folder;  // where its files were found
  std::vector<std::filesystem::path> files;     // those found there; four when complete
};

// What `weft data verify` prints, per file.
struct FileCheck {
  std::filesystem::path path;
  std::uint64_t bytes = 0;  // inflated
  std::string sha256;       // of the inflated bytes
  std::string expected;     // empty where no hash is known
  bool ok() const { return expected.empty() || sha256 == expected; }
};

std::span<const std::string_view> dataset_names();
// Throws usage, with the nearest name, when `name` is none of dataset_names().
void check_dataset_name(std::string_view name);

// Is this a data set that the program draws, without any files?
bool is_drawn(std::string_view name);

DatasetInfo describe_dataset(std::string_view name, const FindOptions& options);

// The data set, or nothing when its files are nowhere and could not be downloaded (log says why).
// Throws data when files are there but incomplete, damaged or wrong.
std::optional<Dataset> find_dataset(std::string_view name, const FindOptions& options);

// As find_dataset, but a data set that is nowhere is Error{data} that says where to put it.
Dataset load_dataset(std::string_view name, const FindOptions& options);

// Downloads what is missing and returns the folder. Throws data when that is not possible.
std::filesystem::path fetch_dataset(std::string_view name, const FindOptions& options);

// Hashes the four files and checks their structure. Throws data when they are missing or malformed;
// a wrong hash is reported in the result.
std::vector<FileCheck> verify_dataset(std::string_view name, const FindOptions& options);

}  // namespace weft::data
