// SPDX-License-Identifier: MIT
#include "models/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "engine/error.h"

namespace weft::models {

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int code) {
  throw Error(ErrorKind::data, str("could not lock the run with ", path.string(), ": ",
                                   std::system_category().message(code)));
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

void write_holder(int descriptor, const std::filesystem::path& path) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string text = str("process ", ::getpid(), " on ", host.data(), "\n");
  if (::ftruncate(descriptor, 0) != 0) fail(path, errno);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count =
        ::pwrite(descriptor, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, errno);
    done += static_cast<std::size_t>(count);
  }
}

[[noreturn]] void fail_held(const std::filesystem::path& folder, const std::string& holder) {
  throw Error(ErrorKind::usage, str(folder.string(), " is being written by ", holder,
                                    ": wait until it ends, or choose another folder (--out)"));
}

// Is it still the file of this name? Its last holder may have removed it in between.
bool is_current(int descriptor, const std::filesystem::path& path) {
  struct stat mine {
  }, named{};
  return ::fstat(descriptor, &mine) == 0 && ::stat(path.c_str(), &named) == 0 &&
         mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& folder) {
  RunLock lock;  // gives up what it has when this throws
  lock.path_ = folder / kFileName;
  while (true) {
    const int file = ::open(lock.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 && errno == EINTR) continue;
    if (file < 0) fail(lock.path_, errno);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      const int code = errno;
      const std::string holder = holder_of(file);
      const bool is_held = code == EWOULDBLOCK;
      const bool unknown = code == ENOLCK || code == EOPNOTSUPP || code == ENOSYS;
      ::close(file);
      if (code == EINTR) continue;
      if (unknown) {
        ::unlink(lock.path_.c_str());
        return;
      }
      if (!is_held) fail(lock.path_, code);
      fail_held(folder, holder);
    }
    if (!is_current(file, lock.path_)) {
      ::close(file);
      continue;
    }
    lock.descriptor_ = file;
    write_holder(file, lock.path_);
    *this = std::move(lock);
    return;
  }
}

void RunLock::require_free(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kFileName;
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    const bool could_be_made = errno == ENOENT && ::access(folder.c_str(), W_OK | X_OK) == 0;
    if (!could_be_made) fail(path, errno);
    return;
  }
  const bool is_held = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const std::string holder = holder_of(file);
  ::close(file);
  if (is_held) fail_held(folder, holder);
}

RunLock::~RunLock() {
  if (descriptor_ < 0) return;
  ::unlink(path_.c_str());  // while it is held, so that nobody else's file is removed
  ::close(descriptor_);
}

}  // namespace weft::models
