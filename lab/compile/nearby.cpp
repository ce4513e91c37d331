// SPDX-License-Identifier: MIT
#include "lab/compile/nearby.h"

#include <cstdlib>

namespace weft::lab {

namespace fs = std::filesystem;

fs::path nearby_folder_with(const std::string& header, const fs::path& beside) {
  constexpr int kParents = 3, kDepth = 3, kEntries = 5000;
  const char* home = std::getenv("HOME");
  fs::path top = fs::absolute(beside.empty() ? "." : beside).lexically_normal();
  if (!top.has_filename()) top = top.parent_path();
  std::error_code failed;
  int looked_at = 0;
  for (int up = 0; up <= kParents; ++up, top = top.parent_path()) {
    if (!top.has_relative_path() || (home != nullptr && top == home)) break;
    if (fs::is_regular_file(top / header, failed)) return fs::relative(top, failed);
    using Walk = fs::recursive_directory_iterator;
    for (Walk at(top, fs::directory_options::skip_permission_denied, failed);
         !failed && at != Walk(); at.increment(failed)) {
      if (++looked_at > kEntries) return {};
      if (!at->is_directory(failed)) continue;
      if (at.depth() + 1 >= kDepth || at->path().filename().string().starts_with('.')) {
        at.disable_recursion_pending();
      }
      if (fs::is_regular_file(at->path() / header, failed)) return fs::relative(at->path(), failed);
    }
  }
  return {};
}

}  // namespace weft::lab
