// SPDX-License-Identifier: MIT
#include "examples/weft/lab/folders.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "engine/error.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli::lab {

namespace fs = std::filesystem;

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "weft" / "lab";
  if (home != nullptr && *home == '/') return fs::path(home) / ".cache" / "weft" / "lab";
  return fs::temp_directory_path() / fmt::format("weft-lab-{}", getuid());
}

void make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) {
    throw Error(ErrorKind::data, fmt::format("{}: cannot be made: {}", printable(folder.string()),
                                             failed.message()));
  }
}

TemporaryFolder::TemporaryFolder(const fs::path& parent) {
  make_folder(parent);
  std::string pattern = (parent / "making-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw Error(ErrorKind::data,
                fmt::format("{}: cannot be written to", printable(parent.string())));
  }
  path = pattern;
  leftover_.emplace(pattern);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code failed;
  fs::remove_all(path, failed);
}

}  // namespace weft::cli::lab
