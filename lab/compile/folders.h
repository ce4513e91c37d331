// SPDX-License-Identifier: MIT
// Where the lab keeps what it makes.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/leftovers.h"

namespace weft::cli::lab {

// $XDG_CACHE_HOME/weft/lab, or where that is by default, when it is a folder of this user to which
// nobody else can write. What runs is taken from there. Otherwise a line says so, and it is a new
// folder that goes away with the process.
std::filesystem::path cache_folder();
// With those above it. Throws data when it cannot be made.
void make_folder(const std::filesystem::path& folder);

// A new folder that goes away with this object, or when a signal ends the program.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& parent);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  std::filesystem::path path;

 private:
  std::optional<TemporaryPath> leftover_;
};

}  // namespace weft::cli::lab
