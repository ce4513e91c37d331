// SPDX-License-Identifier: MIT
#include "data/files/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "data/files/system_call.h"

namespace weft::data {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = ".weft-";
constexpr std::string_view kSuffix = ".tmp";

std::string random_name() {
  std::array<unsigned char, 16> bytes{};
  std::size_t drawn = 0;
  while (drawn < bytes.size()) {
    const ssize_t count =
        uninterrupted([&] { return ::getrandom(bytes.data() + drawn, bytes.size() - drawn, 0); });
    if (count < 0) throw Error(ErrorKind::data, "the system draws no random numbers");
    drawn += static_cast<std::size_t>(count);
  }
  std::string name(kPrefix);
  for (const unsigned char byte : bytes) {
    for (const int digit : {byte >> 4, byte & 15}) {
      name += "0123456789abcdef"[static_cast<std::size_t>(digit)];
    }
  }
  return name.append(kSuffix);
}

std::string kind_of(const struct stat& found) {
  if (S_ISLNK(found.st_mode)) return "a symbolic link";
  if (S_ISDIR(found.st_mode)) return "a folder";
  if (S_ISFIFO(found.st_mode)) return "a pipe";
  if (S_ISSOCK(found.st_mode)) return "a socket";
  if (!S_ISREG(found.st_mode)) return "a device";
  if (found.st_nlink > 1) return str("a file with ", found.st_nlink, " names (hard links)");
  return str("a file of the user ", found.st_uid);
}

Descriptor open_folder(int at, const char* path, int flags = 0) {
  return Descriptor(uninterrupted(
      [&] { return ::openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags); }));
}

struct stat status_of(int descriptor) {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) {
    throw Error(ErrorKind::data,
                str("could not look at an open file: ", std::system_category().message(errno)));
  }
  return found;
}

// Throws unless it is a regular file with one name, of this user or of its folder's owner.
void require_own(const struct stat& found, const Directory& directory, const std::string& name) {
  const bool is_own =
      found.st_uid == ::geteuid() || found.st_uid == status_of(directory.descriptor()).st_uid;
  if (S_ISREG(found.st_mode) && found.st_nlink <= 1 && is_own) return;
  throw Error(ErrorKind::data,
              str((directory.path() / name).string(), ": expected a file of this user (",
                  ::geteuid(), ") that has no other name, found ", kind_of(found)));
}

// Who owns what this user writes there. Network and foreign file systems may name another user.
uid_t owner_of_new_files(const Directory& directory) {
  const auto made = [&](const char* name, int flags) {
    return Descriptor(uninterrupted([&] {
      return ::openat(directory.descriptor(), name, O_WRONLY | O_CLOEXEC | flags, 0600);
    }));
  };
  const Descriptor nameless = made(".", O_TMPFILE);
  if (nameless.is_open()) return status_of(nameless.number()).st_uid;
  const std::string name = random_name();
  const Descriptor file = made(name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW);
  if (!file.is_open()) return ::geteuid();
  ::unlinkat(directory.descriptor(), name.c_str(), 0);
  return status_of(file.number()).st_uid;
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

// Linux has closed the file even after EINTR.
bool Descriptor::close() {
  return ::close(std::exchange(number_, -1)) == 0 || errno == EINTR;
}

Directory::Directory(fs::path path, Descriptor opened)
    : path_(std::move(path)), open_(std::make_shared<const Descriptor>(std::move(opened))) {}

std::optional<Directory> Directory::open(const fs::path& path, std::error_code& code) {
  Descriptor opened = open_folder(AT_FDCWD, path.empty() ? "." : path.c_str());
  code.assign(opened.is_open() ? 0 : errno, std::system_category());
  if (code) return std::nullopt;
  return Directory(path, std::move(opened));
}

Directory::Directory(const fs::path& path) : path_(path) {
  std::error_code code;
  std::optional<Directory> opened = open(path, code);
  if (!opened) fail_to("open the folder", path, code.value());
  *this = std::move(*opened);
}

std::optional<struct stat> Directory::status(const std::string& name) const {
  struct stat found {};
  if (::fstatat(descriptor(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) return found;
  if (errno != ENOENT) fail_to("look at", path_ / name, errno);
  return std::nullopt;
}

std::vector<std::string> Directory::names() const {
  Descriptor again = open_folder(descriptor(), ".");  // with a position of its own
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(
      again.is_open() ? ::fdopendir(again.number()) : nullptr, ::closedir);
  if (entries == nullptr) fail_to("read the folder", path_, errno);
  again.release();
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) fail_to("read the folder", path_, errno);
  return names;
}

void Directory::require_own() const {
  const uid_t owner = status_of(descriptor()).st_uid;
  if (owner == ::geteuid() || ::geteuid() == 0 || owner == owner_of_new_files(*this)) return;
  throw Error(ErrorKind::data,
              str(path_.string(), ": expected a folder of this user (", ::geteuid(),
                  "), found one of the user ", owner, ": copy it to write there"));
}

void Directory::require_own_file(const std::string& name) const {
  if (const std::optional<struct stat> found = status(name))
    weft::data::require_own(*found, *this, name);
}

Descriptor Directory::open_own_file(const std::string& name, int flags) const {
  require_own_file(name);  // a device may do something when it is opened
  // O_NONBLOCK: what has become a pipe in between must not wait.
  Descriptor file(uninterrupted([&] {
    return ::openat(descriptor(), name.c_str(),
                    flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }));
  if (!file.is_open() && errno == ENOENT) return file;
  if (!file.is_open()) fail_to("open", path_ / name, errno);
  weft::data::require_own(status_of(file.number()), *this, name);
  return file;
}

Directory Directory::folder(const std::string& name) const {
  Descriptor opened = open_folder(descriptor(), name.c_str(), O_NOFOLLOW);
  if (!opened.is_open()) {
    const int code = errno;
    const std::optional<struct stat> found = status(name);
    if (!found || S_ISDIR(found->st_mode)) fail_to("open the folder", path_ / name, code);
    throw Error(ErrorKind::data, str((path_ / name).string(), ": expected a folder, found ",
                                     S_ISREG(found->st_mode) ? "a file" : kind_of(*found)));
  }
  const uid_t owner = status_of(opened.number()).st_uid;
  if (owner != ::geteuid() && owner != status_of(descriptor()).st_uid) {
    throw Error(ErrorKind::data, str((path_ / name).string(), ": expected a folder of this user (",
                                     ::geteuid(), "), found one of the user ", owner));
  }
  return Directory(path_ / name, std::move(opened));
}

Directory Directory::make_folder(const std::string& name) const {
  if (::mkdirat(descriptor(), name.c_str(), 0777) != 0 && errno != EEXIST) {
    fail_to("create the folder", path_ / name, errno);
  }
  return folder(name);
}

void Directory::sync() const {
  const int code = uninterrupted([&] { return ::fsync(descriptor()); }) == 0 ? 0 : errno;
  if (code != 0 && code != EINVAL) fail_to("sync the folder", path_, code);
}

// Earlier versions named a process there.
bool is_temporary_name(std::string_view file_name) {
  if (!file_name.starts_with(kPrefix) || !file_name.ends_with(kSuffix)) return false;
  if (file_name.size() <= kPrefix.size() + kSuffix.size()) return false;
  file_name.remove_prefix(kPrefix.size());
  file_name.remove_suffix(kSuffix.size());
  return file_name.find_first_not_of("0123456789abcdef-") == file_name.npos;
}

Temporary::Temporary(const Directory& directory, Kind kind, const fs::path& path)
    : directory_(directory), path_(path) {
  int tries = 0;
  while (!make(kind)) {
    if (++tries == 100) fail_to("write", path_, EAGAIN);
  }
  remove_stale();
}

// False when another process took it for that of a killed one before it was locked.
bool Temporary::make(Kind kind) {
  const int folder = directory_.descriptor();
  name_ = random_name();
  leftover_.emplace(this->path().string());
  if (kind == Kind::folder) {
    if (::mkdirat(folder, name_.c_str(), 0777) != 0) fail_to("write", path_, errno);
    open_ = open_folder(folder, name_.c_str(), O_NOFOLLOW);
  } else {
    open_ = Descriptor(uninterrupted([&] {
      return ::openat(folder, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      0666);
    }));
  }
  if (!open_.is_open()) {
    const int code = errno;
    remove_tree(folder, name_.c_str());
    fail_to("write", path_, code);
  }
  const bool is_taken = ::flock(descriptor(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return !is_taken && ::faccessat(folder, name_.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Temporary::~Temporary() {
  if (!renamed_) remove_tree(directory_.descriptor(), name_.c_str());
}

Directory Temporary::folder() const {
  Descriptor again(::fcntl(descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!again.is_open()) fail_to("write", path_, errno);
  return {path_, std::move(again)};
}

// The file stays open, and locked, until it has its name.
void Temporary::check_written() const {
  if (uninterrupted([&] { return ::fsync(descriptor()); }) != 0) fail_to("write", path_, errno);
  Descriptor again(::fcntl(descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!again.is_open() || !again.close()) fail_to("write", path_, errno);
}

void Temporary::rename(const std::string& name) {
  const int folder = directory_.descriptor();
  if (::renameat(folder, name_.c_str(), folder, name.c_str()) != 0) {
    fail_to("write", path_, errno);
  }
  renamed_ = true;
}

void Temporary::remove_stale() const try {
  const uid_t user = status_of(descriptor()).st_uid;
  const int folder = directory_.descriptor();
  for (const std::string& name : directory_.names()) {
    if (!is_temporary_name(name)) continue;
    struct stat found {};
    if (::fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const bool is_folder = S_ISDIR(found.st_mode);
    const bool is_file = S_ISREG(found.st_mode) && found.st_nlink <= 1;
    if (found.st_uid != user || (!is_file && !is_folder)) continue;
    const int flags = is_folder ? O_RDONLY | O_DIRECTORY : O_RDWR;
    const Descriptor opened(uninterrupted([&] {
      return ::openat(folder, name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    }));
    if (!opened.is_open() || !is_same(found, status_of(opened.number()))) continue;
    if (::flock(opened.number(), LOCK_EX | LOCK_NB) == 0) remove_tree(folder, name.c_str());
  }
} catch (const Error&) {  // as in a folder that may be written and not read
}

}  // namespace weft::data
