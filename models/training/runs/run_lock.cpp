// SPDX-License-Identifier: MIT
#include "models/training/runs/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "data/files/system_call.h"
#include "engine/error.h"

namespace weft::models {

namespace {

const std::string kLockName(RunLock::kFileName);

[[noreturn]] void fail_to_lock(const data::Directory& folder, int code) {
  data::fail_to("lock the run with", folder.path() / kLockName, code);
}

// "process 1234 on node7", or less when the holder has not written it yet.
std::string holder_of(int descriptor) {
  std::array<char, 300> text{};
  const ssize_t length = ::pread(descriptor, text.data(), text.size(), 0);
  std::string holder(text.data(), static_cast<std::size_t>(length > 0 ? length : 0));
  for (char& c : holder) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  while (holder.ends_with(' ')) holder.pop_back();
  return holder.empty() ? "another process" : holder;
}

void write_holder(int descriptor, const data::Directory& folder) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string text = str("process ", ::getpid(), " on ", host.data(), "\n");
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = data::uninterrupted([&] {
      return ::pwrite(descriptor, text.data() + done, text.size() - done, static_cast<off_t>(done));
    });
    if (count < 0) fail_to_lock(folder, errno);
    done += static_cast<std::size_t>(count);
  }
}

[[noreturn]] void fail_held(const data::Directory& folder, const std::string& holder) {
  throw Error(ErrorKind::usage, str(folder.path().string(), " is being written by ", holder,
                                    ": wait until it ends, or choose another folder (--out)"));
}

// Is it still the file of this name? Its last holder may have removed it in between.
bool is_current(int descriptor, const data::Directory& folder) {
  struct stat mine {};
  const auto named = folder.status(kLockName);
  return named && ::fstat(descriptor, &mine) == 0 && mine.st_ino == named->st_ino &&
         mine.st_dev == named->st_dev;
}

void remove_lock(const data::Directory& folder) {
  ::unlinkat(folder.descriptor(), kLockName.c_str(), 0);
}

}  // namespace

// The destructor runs when this throws, because the other constructor has ended.
RunLock::RunLock(const data::Directory& folder) : RunLock(folder, data::Descriptor()) {
  while (true) {
    data::Descriptor file(data::uninterrupted([&] {
      return ::openat(folder.descriptor(), kLockName.c_str(),
                      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    }));
    const bool is_new = file.is_open();
    if (!is_new && errno != EEXIST) fail_to_lock(folder, errno);
    if (!is_new) file = folder.open_own_file(kLockName, O_RDWR);
    if (!file.is_open()) continue;  // its holder has removed it
    const int descriptor = file.number();
    if (data::uninterrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) != 0) {
      const int code = errno;
      if (code == EWOULDBLOCK) fail_held(folder, holder_of(descriptor));
      const bool knows_no_locks = code == ENOLCK || code == EOPNOTSUPP || code == ENOSYS;
      if (is_new || knows_no_locks) remove_lock(folder);
      if (knows_no_locks) return;
      fail_to_lock(folder, code);
    }
    if (!is_current(descriptor, folder)) continue;
    if (!is_new) {  // its process has ended without removing it
      remove_lock(folder);
      continue;
    }
    file_ = std::move(file);
    write_holder(descriptor, folder);
    return;
  }
}

void RunLock::require_free(const data::Directory& folder) {
  const data::Descriptor file = folder.open_own_file(kLockName, O_RDWR);
  if (!file.is_open()) {
    if (::faccessat(folder.descriptor(), ".", W_OK | X_OK, 0) != 0) fail_to_lock(folder, errno);
    return;
  }
  const bool is_held = ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (is_held) fail_held(folder, holder_of(file.number()));
}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(file_, other.file_);
  return *this;
}

// While it is held, so that nobody else's file is removed.
RunLock::~RunLock() {
  if (file_.is_open()) remove_lock(folder_);
}

}  // namespace weft::models
