// SPDX-License-Identifier: MIT
// A lock on the folder of a run, so that one process writes there at a time.
//
// It is a file .weft-lock with flock(), which the system gives up when its process ends, however
// that ends, and in whichever container that was. The file tells who holds it. It is removed when
// the lock is given up, and after kill -9 the next process removes it and makes its own: a file
// that lay there is never written. A file system that knows no locks gives none.
#pragma once

#include <string_view>
#include <utility>

#include "data/files/directory.h"

namespace weft::models {

class RunLock {
 public:
  static constexpr std::string_view kFileName = ".weft-lock";

  // Error{usage} with the process and the host that hold it already; Error{data} when the file
  // cannot be made, or when something else has its name, as Directory::require_own_file() has it.
  explicit RunLock(const data::Directory& folder);
  // Throws what the constructor would throw, and writes nothing.
  static void require_free(const data::Directory& folder);
  RunLock(RunLock&& other) noexcept = default;
  RunLock& operator=(RunLock&& other) noexcept;
  ~RunLock();

 private:
  RunLock(const data::Directory& folder, data::Descriptor file)
      : folder_(folder), file_(std::move(file)) {}

  data::Directory folder_;
  data::Descriptor file_;
};

}  // namespace weft::models
