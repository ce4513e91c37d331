// SPDX-License-Identifier: MIT
// A folder of pictures as a data set. folder/tree.h says how the folder is laid out.
//
// Every picture is decoded once, on all cores, and its pixels are kept in a cache file that is used
// as long as no picture is added, removed or changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "data/files/directory.h"
#include "data/folder/links.h"
#include "data/folder/tree.h"
#include "data/picture/fit.h"
#include "data/sets/dataset.h"

namespace weft::data {

inline constexpr std::int64_t kMaxDatasetSide = 1024;  // pixels
// Pictures that have one size of at most so many pixels a side keep it.
inline constexpr std::int64_t kMaxKeptSide = 128;

// What decides the pixels. 0 leaves the choice to the pictures.
struct PictureShape {
  std::int64_t channels = 0;  // 1 grey or 3 colours; else 3 when a training picture has a colour
  std::int64_t height = 0;    // else the common size of all pictures, or 28 x 28 in grey and
  std::int64_t width = 0;     // 32 x 32 in colour
  Fit fit = Fit::letterbox;
  int sample_bits = 0;  // of PNGs with 16 a sample (image.h); else what all training pictures need

  friend bool operator==(const PictureShape&, const PictureShape&) = default;
};

struct FolderOptions {
  PictureShape shape;
  Holding holding = Holding::tenth;
  std::string label_column;            // of a table (tables.h); empty: the table tells
  std::string label_pattern;           // of file names (picture_labels.h); empty: folders tell
  Links links = Links::followed;       // load_own_data() alone looks for them
  bool skip_broken = false;            // leave out pictures that cannot be read, and log each
  std::filesystem::path cache_folder;  // is made when needed; empty: no cache
  std::uint64_t memory = 0;            // bytes that data may take; 0: what host_room() has
  std::function<void(const std::string&)> log;                        // one line; may be empty
  std::function<void(std::int64_t done, std::int64_t all)> progress;  // on the caller's thread
};

// Throws data for what list_pictures() refuses, for pictures that cannot be read (all of them are
// logged, and the error counts them), and when the pixels would not fit into memory, before they
// are decoded. A cache that cannot be written is logged; one that is damaged is not used.
Dataset load_folder(const TreePath& folder, const FolderOptions& options);
// The same for pictures of the folder that are listed already.
Dataset load_pictures(const TreePath& folder, const PictureTree& tree,
                      const FolderOptions& options);

// Calls `write` with a new folder that gets its name when all is written. Throws data when there is
// something of this name, or it cannot be written; then nothing is left there.
void write_new_folder(const std::filesystem::path& folder,
                      const std::function<void(const Directory&)>& write);

// Writes the images as DIR/train/CLASS/N.png, DIR/test/CLASS/N.png and, where there are such,
// DIR/val/CLASS/N.png, so that load_folder() reads the same pixels. Throws data when `folder`
// exists already, cannot be written, or a class name is no name of a folder; then nothing is left
// there.
void write_folder(const Dataset& dataset, const std::filesystem::path& folder);

}  // namespace weft::data
