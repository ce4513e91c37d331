// SPDX-License-Identifier: MIT
// What a program must not leave behind when a signal ends it: temporary files, and the processes
// that it has started.
#pragma once

#include <sys/types.h>

#include <string>

namespace weft {

namespace detail {
struct Leftover;
}

// While it lives, remove_leftovers() removes the file of this name, or the folder and all in it.
class TemporaryPath {
 public:
  explicit TemporaryPath(const std::string& path);
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  ~TemporaryPath();

 private:
  detail::Leftover* entry_;
  const char* path_;
};

// While it lives, remove_leftovers() sends this signal to this process; to a whole group, where the
// number is that of the group with a minus, as kill() has it. It must not outlive the process:
// another one may get the number.
class ChildProcess {
 public:
  ChildProcess(pid_t process, int signal);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

 private:
  detail::Leftover* entry_;
};

// Removes a file, or a folder and all in it, that stands in an open folder. Links are removed, and
// never followed; what cannot be removed stays. It calls only what a signal handler may call.
void remove_tree(int folder, const char* name);

// Ends the processes and removes the files. It calls only what a signal handler may call.
void remove_leftovers();

}  // namespace weft
