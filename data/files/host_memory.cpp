// SPDX-License-Identifier: MIT
#include "data/files/host_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "data/files/scratch_file.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

// The number after `word` in a file of words and numbers, or 0.
std::uint64_t number_after(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  for (std::string found; file >> found;) {
    if (found == word && file >> value) return value;
  }
  return 0;
}

// The only number of a file, or 0.
std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0;
}

std::string mebibytes(std::uint64_t bytes) {
  return str(bytes >> 20, " MiB");
}

// The files of a control group in which a version of the kernel's interface tells its memory.
struct GroupFiles {
  const char *root, *most, *used, *cached;
};
constexpr GroupFiles kVersion2 = {"/sys/fs/cgroup", "/memory.max", "/memory.current",
                                  "inactive_file"};
constexpr GroupFiles kVersion1 = {"/sys/fs/cgroup/memory", "/memory.limit_in_bytes",
                                  "/memory.usage_in_bytes", "total_inactive_file"};

// What a group and those above it leave. In a container the path may lead to nothing, and the root
// is the group.
std::uint64_t left_in_group(const GroupFiles& files, std::string path) {
  std::uint64_t least = UINT64_MAX;
  while (true) {
    const std::string group = files.root + path;
    if (const std::uint64_t most = number_in(group + files.most); most > 0) {
      const std::uint64_t used = number_in(group + files.used);
      const std::uint64_t cached = number_after(group + "/memory.stat", files.cached);
      const std::uint64_t taken = used - std::min(used, cached);
      least = std::min(least, most - std::min(most, taken));
    }
    if (path.empty()) return least;
    path.resize(path.rfind('/') == path.npos ? 0 : path.rfind('/'));
  }
}

// A line of /proc/self/cgroup is "0::/path" of version 2, "4:memory:/path" of version 1.
std::uint64_t left_in_groups() {
  std::ifstream groups("/proc/self/cgroup");
  std::uint64_t least = UINT64_MAX;
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) least = std::min(least, left_in_group(kVersion2, path));
    if (str(",", controllers, ",").find(",memory,") != std::string::npos) {
      least = std::min(least, left_in_group(kVersion1, path));
    }
  }
  return least;
}

std::uint64_t left_of(decltype(RLIMIT_AS) resource, const char* taken) {
  struct rlimit limit {};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  const std::uint64_t most = limit.rlim_cur;
  return most - std::min(most, 1024 * number_after("/proc/self/status", taken));
}

std::uint64_t limit_of_user() {
  const char* text = std::getenv("WEFT_HOST_DATA_LIMIT");
  if (text == nullptr) return 0;
  if (const std::optional<std::uint64_t> size = size_of_text(text)) return *size;
  throw Error(ErrorKind::usage,
              str("WEFT_HOST_DATA_LIMIT: expected ", kSizeText, ", found ", printable(text)));
}

}  // namespace

std::uint64_t available_memory() {
  const std::uint64_t machine = 1024 * number_after("/proc/meminfo", "MemAvailable:");
  const std::uint64_t least =
      std::min({left_in_groups(), left_of(RLIMIT_AS, "VmSize:"), left_of(RLIMIT_DATA, "VmData:")});
  if (least == UINT64_MAX) return machine;
  return std::max<std::uint64_t>(1, machine == 0 ? least : std::min(machine, least));
}

std::uint64_t host_data_limit(std::uint64_t bytes) {
  constexpr std::uint64_t kSmall = std::uint64_t{16} << 20;  // not worth a question
  constexpr std::uint64_t kShare = 8, kPage = 4096;
  if (bytes <= kPage) return UINT64_MAX;
  if (const std::uint64_t limit = limit_of_user(); limit > 0) return limit;
  const std::uint64_t available = bytes > kSmall ? available_memory() : 0;
  return available == 0 ? UINT64_MAX : std::max(kSmall, available / kShare);
}

HostRoom host_room(std::uint64_t memory) {
  if (memory > 0) return {memory, 0};
  return {available_memory(), scratch_room()};
}

void require_room(const std::string& what, std::uint64_t bytes, int copies, const HostRoom& room,
                  const std::string& remedy) {
  const auto times = static_cast<std::uint64_t>(copies);
  if (room.bytes() == 0 || bytes <= room.bytes() / times) return;
  const std::string disk = room.disk == 0 ? ""
                                          : str(", and ", mebibytes(room.disk), " of disk in ",
                                                default_cache_folder().string());
  throw Error(ErrorKind::data, str(what, " take ", mebibytes(bytes), ", and training holds them ",
                                   copies, " times, but only ", mebibytes(room.memory),
                                   " of memory are free", disk, "; ", remedy));
}

}  // namespace weft::data
