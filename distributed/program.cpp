// SPDX-License-Identifier: MIT
#include "distributed/program.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "engine/error.h"

namespace weft::distributed {
namespace {

std::filesystem::path program_file() {
  Dl_info info{};
  std::error_code code;
  if (dladdr(reinterpret_cast<const void*>(&program_folder), &info) == 0) return {};
  // The name of a program may be the one that it was called by.
  std::filesystem::path file = std::filesystem::canonical(info.dli_fname, code);
  if (code || !std::filesystem::path(info.dli_fname).has_parent_path()) {
    file = std::filesystem::canonical("/proc/self/exe", code);
  }
  return file;
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
