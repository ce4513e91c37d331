// SPDX-License-Identifier: MIT
#include "distributed/program.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "engine/error.h"

namespace weft::distributed {
namespace {

// The file that this code was loaded from: the program's own, or that of a library such as
// Python's. The loader gives a program no name. dladdr() would call it what its caller did, which
// can be the name of a file in the current folder.
std::filesystem::path program_file() {
  Dl_info info{};
  link_map* map = nullptr;
  const bool is_known = dladdr1(reinterpret_cast<const void*>(&program_folder), &info,
                                reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0;
  const bool is_library = is_known && map != nullptr && *map->l_name != '\0';
  std::error_code code;
  return std::filesystem::canonical(is_library ? map->l_name : "/proc/self/exe", code);
}

}  // namespace

std::string program_folder() {
  return program_file().parent_path().string();
}

// FNV-1a over 64-bit words.
std::string program_fingerprint() {
  std::ifstream file(program_file(), std::ios::binary);
  std::vector<char> block(std::size_t{1} << 20);
  std::uint64_t hash = 0xcbf29ce484222325ull;
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto count = static_cast<std::size_t>(file.gcount());
    std::fill(block.begin() + static_cast<std::ptrdiff_t>(count), block.end(), '\0');
    for (std::size_t at = 0; at < count; at += 8) {
      std::uint64_t word;
      std::memcpy(&word, block.data() + at, 8);
      hash = (hash ^ word) * 0x100000001b3ull;
      hash ^= hash >> 32;
    }
  }
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace weft::distributed
