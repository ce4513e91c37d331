// SPDX-License-Identifier: MIT
// Names the files that make up a data set, and finds them. Internal to mnist.cpp and its tests.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/sets/mnist.h"

namespace weft::data {

enum class FileRole { train_images, train_labels, test_images, test_labels };
inline constexpr std::size_t kRoles = 4;

// What is known about a member of the family.
struct FamilyMember {
  std::string_view name, title, homepage;
  std::string_view torchvision;                 // the folder that torchvision.datasets makes for it
  std::array<std::string_view, kRoles> stems;   // "train-images" of train-images-idx3-ubyte
  std::array<std::string_view, kRoles> sha256;  // of the inflated files; empty where not known
  std::array<std::string_view, 10> class_names;
  bool transposed = false;
  bool downloadable = false;
  std::optional<KnownStatistics> statistics = {};  // otherwise they are measured
};

// MNIST with more hands (hands.h).
inline constexpr std::string_view kHandsName = "mnist-hands";

std::span<const FamilyMember> mnist_family();
const FamilyMember* find_member(std::string_view name);  // nullptr: not of the family

// The canonical file name of a role: "train-images-idx3-ubyte".
std::string file_name(const FamilyMember& member, FileRole role);

struct Located {
  std::filesystem::path folder;
  std::array<std::filesystem::path, kRoles> files;  // empty where missing
  bool complete() const;
  bool empty() const;
  std::string first_missing(const FamilyMember& member) const;
};

// The first folder of the search order that holds any of the files.
std::optional<Located> locate(const FamilyMember& member, const FindOptions& options);
Located look_in(const FamilyMember& member, const std::filesystem::path& folder);

// Where downloads go: data_dir, else $WEFT_DATA_DIR, else data/NAME.
std::filesystem::path download_folder(const FamilyMember& member, const FindOptions& options);

// The folders that locate() looks in, for messages.
std::vector<std::filesystem::path> search_folders(const FamilyMember& member,
                                                  const FindOptions& options);

}  // namespace weft::data
