// SPDX-License-Identifier: MIT
#include "lab/compile/folders.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "engine/error.h"
#include "engine/text.h"

namespace weft::lab {

namespace fs = std::filesystem;

namespace {

fs::path usual_cache() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "weft" / "lab";
  if (home != nullptr && *home == '/') return fs::path(home) / ".cache" / "weft" / "lab";
  return fs::temp_directory_path() / fmt::format("weft-lab-{}", geteuid());
}

// Is this a folder of one's own, no link, to which nobody else can write? What is in a folder to
// which others could write is taken away.
bool is_made_private(const fs::path& folder) {
  struct stat found = {};
  if (lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != geteuid() ||
      chmod(folder.c_str(), 0700) != 0) {
    return false;
  }
  std::error_code failed;
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
      fs::remove_all(entry.path(), failed);
      if (failed) return false;
    }
  }
  return !failed;
}

}  // namespace

fs::path cache_folder(const Tell& tell) {
  const fs::path usual = usual_cache();
  make_folder(usual.parent_path());
  mkdir(usual.c_str(), 0700);
  if (is_made_private(usual)) return usual;
  static const TemporaryFolder fresh(fs::temp_directory_path());
  static const bool is_told = [&] {
    tell(fmt::format("{} is not a folder of yours alone, so nothing there is used or kept",
                     printable(usual.string())));
    return true;
  }();
  static_cast<void>(is_told);
  return fresh.path;
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

}  // namespace weft::lab
