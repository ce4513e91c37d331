// SPDX-License-Identifier: MIT
#include "lab/compile/cache.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>

#include "data/files/sha256.h"

namespace weft::lab {

namespace fs = std::filesystem;

std::string hash(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  return data::sha256_hex({bytes, text.size()}).substr(0, 32);
}

std::string state_of(const fs::path& file) {
  std::error_code failed;
  return fmt::format("{} {} {}\n", file.string(), fs::file_size(file, failed),
                     fs::last_write_time(file, failed).time_since_epoch().count());
}

void mark_used(const fs::path& folder) {
  std::error_code failed;
  fs::last_write_time(folder, fs::file_time_type::clock::now(), failed);
}

void prune(const fs::path& cache) {
  constexpr std::size_t kPrograms = 64, kObjects = 256;
  std::multimap<fs::file_time_type, fs::path> programs, objects;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(cache, failed)) {
    const std::string name = entry.path().filename().string();
    // Folders in the making and the shell's are in use, and toolchain.cpp removes headers.
    if (name.starts_with(kHeaderFolder) || name.starts_with(kShellFolder) ||
        name.starts_with("making-")) {
      continue;
    }
    auto& kind = name.starts_with(kObjectFolder) ? objects : programs;
    kind.emplace(fs::last_write_time(entry, failed), entry.path());
  }
  for (auto* kind : {&programs, &objects}) {
    const std::size_t most = kind == &programs ? kPrograms : kObjects;
    for (auto oldest = kind->begin(); kind->size() > most; oldest = kind->erase(oldest)) {
      fs::remove_all(oldest->second, failed);
    }
  }
}

}  // namespace weft::lab
