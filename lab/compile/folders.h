// SPDX-License-Identifier: MIT
// Where the lab keeps what it makes.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "engine/leftovers.h"

namespace weft::lab {

// Takes a line that a person should read while the work goes on.
using Tell = std::function<void(const std::string& line)>;

// $XDG_CACHE_HOME/weft/lab, or where that is by default, when it is a folder of this user to which
// nobody else can write. What runs is taken from there. Otherwise `tell` gets a line, and it is a
// new folder that goes away with the process.
std::filesystem::path cache_folder(const Tell& tell);
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

}  // namespace weft::lab
