// SPDX-License-Identifier: MIT
// A lock on the folder of a run, so that one process writes there at a time.
//
// It is a file .weft-lock with flock(), which the system gives up when its process ends, however
// that ends. The file tells who holds it. It is removed when the lock is given up, and after
// kill -9 the next process takes it over. A file system that knows no locks gives none.
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>

namespace weft::models {

class RunLock {
 public:
  static constexpr std::string_view kFileName = ".weft-lock";

  RunLock() = default;  // of nothing
  // Error{usage} with the process and the host that hold it already; Error{data} when the file
  // cannot be made.
  explicit RunLock(const std::filesystem::path& folder);
  // Throws what the constructor would throw, and writes nothing.
  static void require_free(const std::filesystem::path& folder);
  RunLock(RunLock&& other) noexcept { *this = std::move(other); }
  RunLock& operator=(RunLock&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~RunLock();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace weft::models
