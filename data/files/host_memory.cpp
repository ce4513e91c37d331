// SPDX-License-Identifier: MIT
#include "data/files/host_memory.h"

#include <algorithm>
#include <fstream>

#include "engine/error.h"

namespace weft::data {
namespace {

// The number after `word` in a file of words and numbers, or 0.
std::uint64_t number_after(const char* path, const std::string& word) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  for (std::string found; file >> found;) {
    if (found == word && file >> value) return value;
  }
  return 0;
}

// The only number of a file, or 0.
std::uint64_t number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0;
}

std::string mebibytes(std::uint64_t bytes) {
  return str(bytes >> 20, " MiB");
}

}  // namespace

std::uint64_t available_memory() {
  const std::uint64_t machine = 1024 * number_after("/proc/meminfo", "MemAvailable:");
  const std::uint64_t most = number_in("/sys/fs/cgroup/memory.max");
  if (most == 0) return machine;
  const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current");
  const std::uint64_t cached = number_after("/sys/fs/cgroup/memory.stat", "inactive_file");
  const std::uint64_t taken = used - std::min(used, cached);
  const std::uint64_t left = most - std::min(most, taken);
  return machine == 0 ? left : std::min(machine, left);
}

void require_memory(const std::string& what, std::uint64_t bytes, int copies,
                    std::uint64_t available, const std::string& remedy) {
  const auto times = static_cast<std::uint64_t>(copies);
  if (available == 0 || bytes <= available / times) return;
  throw Error(ErrorKind::data,
              str(what, " take ", mebibytes(bytes), ", and training holds them ", copies,
                  " times, but only ", mebibytes(available), " of memory are free; ", remedy));
}

}  // namespace weft::data
