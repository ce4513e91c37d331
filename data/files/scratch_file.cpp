// SPDX-License-Identifier: MIT
#include "data/files/scratch_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "data/files/system_call.h"
#include "engine/error.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

// The folder, or the nearest one above it that is there: the disk is the same.
fs::path existing(fs::path folder) {
  std::error_code unknown;
  while (!folder.empty() && !fs::exists(folder, unknown) && folder != folder.parent_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

bool is_in_memory(const struct statfs& found) {
  return found.f_type == TMPFS_MAGIC || found.f_type == RAMFS_MAGIC;
}

std::uint64_t largest_file() {
  struct rlimit limit {};
  const bool is_known = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_known ? std::uint64_t{limit.rlim_cur} : UINT64_MAX;
}

[[noreturn]] void refuse(std::uint64_t bytes, const std::string& why) {
  throw Error(ErrorKind::data,
              str(bytes >> 20, " MiB of data do not fit into memory, and ", why,
                  "; free some, give a folder on a larger disk by XDG_CACHE_HOME, or take less "
                  "data"));
}

}  // namespace

fs::path default_cache_folder() {
  const auto variable = [](const char* name) -> fs::path {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (const fs::path cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "weft";
  const fs::path home = variable("HOME");
  return home.empty() ? fs::path() : home / ".cache" / "weft";
}

std::uint64_t scratch_room() {
  struct statfs found {};
  const fs::path folder = existing(default_cache_folder());
  if (folder.empty() || ::statfs(folder.c_str(), &found) != 0 || is_in_memory(found)) return 0;
  const auto free = static_cast<std::uint64_t>(found.f_bavail);
  return std::min(free * static_cast<std::uint64_t>(found.f_bsize), largest_file());
}

Descriptor open_scratch_file() {
  const fs::path folder = default_cache_folder();
  if (folder.empty()) {
    throw Error(ErrorKind::data,
                "data do not fit into memory, and there is no folder for them on disk: set "
                "XDG_CACHE_HOME or HOME");
  }
  std::error_code code;
  fs::create_directories(folder, code);
  Descriptor file(uninterrupted(
      [&] { return ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR); }));
  if (file.is_open()) return file;
  std::string name = (folder / "scratch-XXXXXX").string();  // a disk without O_TMPFILE
  file = Descriptor(mkostemp(name.data(), O_CLOEXEC));
  if (!file.is_open())
    fail_to("make a file for data that do not fit into memory in", folder, errno);
  ::unlink(name.c_str());
  return file;
}

void take_room(int scratch_file, std::uint64_t bytes) {
  struct statfs found {};
  const std::string folder = default_cache_folder().string();
  if (fstatfs(scratch_file, &found) == 0 && is_in_memory(found)) {
    refuse(bytes, str(folder, " is in memory, too"));
  }
  if (bytes > largest_file()) {
    refuse(bytes, str("files of this process may have ", largest_file() >> 20,
                      " MiB at most (ulimit -f)"));
  }
  int code = 0;
  do {
    code = posix_fallocate(scratch_file, 0, static_cast<off_t>(bytes));
  } while (code == EINTR);
  if (code == 0) return;
  if (code != ENOSPC && code != EDQUOT && code != EFBIG) {
    fail_to("take room for data that do not fit into memory in", folder, code);
  }
  refuse(bytes, str(folder, " has ", scratch_room() >> 20, " MiB of disk free"));
}

}  // namespace weft::data
