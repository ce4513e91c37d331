// SPDX-License-Identifier: MIT
// A list that only grows, of entries that are used again, so that a signal handler can walk it
// whatever the threads of the program are doing.
#include "engine/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace weft {

namespace detail {

struct Leftover {
  std::atomic<bool> taken = false;
  std::atomic<const char*> path = nullptr;  // whoever takes it out owns the text
  std::atomic<pid_t> process = 0;
  int signal = 0;
  const char* kept = nullptr;  // a text that a signal handler may be at work with
  Leftover* next = nullptr;
};

}  // namespace detail

namespace {

using detail::Leftover;

std::atomic<Leftover*> first = nullptr;
static_assert(std::atomic<const char*>::is_always_lock_free &&
                  std::atomic<pid_t>::is_always_lock_free,
              "a signal handler reads them");

Leftover* take_entry() {
  for (Leftover* entry = first; entry != nullptr; entry = entry->next) {
    if (!entry->taken.exchange(true)) return entry;
  }
  auto* entry = new Leftover;
  entry->taken = true;
  entry->next = first;
  while (!first.compare_exchange_weak(entry->next, entry)) {
  }
  return entry;
}

void remove_content(int folder) {
  alignas(dirent64) char entries[2048];
  for (;;) {
    const ssize_t bytes = getdents64(folder, entries, sizeof entries);
    if (bytes <= 0) return;
    for (ssize_t at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      const char* name = entry->d_name;
      if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) remove_tree(folder, name);
      at += entry->d_reclen;
    }
  }
}

}  // namespace

void remove_tree(int folder, const char* name) {
  if (unlinkat(folder, name, 0) == 0 || errno != EISDIR) return;
  const int opened = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return;
  // What is removed while a folder is read may hide others.
  for (int pass = 0; pass < 8 && unlinkat(folder, name, AT_REMOVEDIR) != 0; ++pass) {
    lseek(opened, 0, SEEK_SET);
    remove_content(opened);
  }
  close(opened);
}

TemporaryPath::TemporaryPath(const std::string& path) : entry_(take_entry()) {
  char* text = new char[path.size() + 1];
  std::memcpy(text, path.c_str(), path.size() + 1);
  path_ = text;
  entry_->path = text;
}

TemporaryPath::~TemporaryPath() {
  // A handler that has taken it out is at work with it, and the program ends.
  if (entry_->path.exchange(nullptr) == path_) {
    delete[] path_;
  } else {
    entry_->kept = path_;
  }
  entry_->taken = false;
}

ChildProcess::ChildProcess(pid_t process, int signal) : entry_(take_entry()) {
  entry_->signal = signal;
  entry_->process = process;
}

ChildProcess::~ChildProcess() {
  entry_->process = 0;
  entry_->taken = false;
}

void remove_leftovers() {
  for (Leftover* entry = first; entry != nullptr; entry = entry->next) {
    if (const pid_t process = entry->process.exchange(0); process != 0)
      kill(process, entry->signal);
  }
  for (Leftover* entry = first; entry != nullptr; entry = entry->next) {
    if (const char* path = entry->path.exchange(nullptr)) remove_tree(AT_FDCWD, path);
  }
}

}  // namespace weft
