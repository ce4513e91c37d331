// SPDX-License-Identifier: MIT
// The decoded pictures of a folder in one file. Internal to folder.cpp.
//
// The file is: a line with a magic number, the key and the SHA-256 of the rest, then numbers of 64
// bits in the machine's byte order, pixels and labels.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/folder/folder.h"

namespace weft::data {

// What decoding made of a tree.
struct DecodedPictures {
  ImageSet train, validation, test;
  std::vector<std::string> skipped;  // why, for each picture that was left out
  int sample_bits = 0;               // of the shape that they were decoded to
  // PNGs of 16 bits a sample that are scaled up, by their sBIT and by `sample_bits`.
  std::int64_t stated_depths = 0, found_depths = 0;
  bool all_read = true;  // false: the bytes of one that was left out could not be had
};

struct CacheEntry {
  std::filesystem::path path;
  std::string key;  // SHA-256 of everything that decides the pixels
};

// The place and the key of this folder with these options. The place depends on the folder and the
// options, so that a folder which changed replaces its old file.
CacheEntry cache_entry(const TreePath& folder, const PictureTree& tree,
                       const FolderOptions& options);

// Nothing when the file is missing, has another key or is damaged.
std::optional<DecodedPictures> read_cache(const CacheEntry& entry);

// Makes the folder when it is missing, and removes files there that were not used for 30 days.
// Throws data when the file cannot be written.
void write_cache(const CacheEntry& entry, const DecodedPictures& pictures);

}  // namespace weft::data
