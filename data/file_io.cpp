// SPDX-License-Identifier: MIT
#include "data/file_io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "engine/error.h"

namespace weft::data {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = ".weft-";
constexpr std::string_view kSuffix = ".tmp";

[[noreturn]] void fail(const char* what, const fs::path& path, int code) {
  throw Error(ErrorKind::data, str("could not ", what, " ", path.string(), ": ",
                                   std::system_category().message(code)));
}

// Calls again as long as a signal comes in between.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// close() reports what a delayed write could not do. Linux has closed the file even after EINTR.
bool close_failed(int descriptor) {
  return ::close(descriptor) != 0 && errno != EINTR;
}

void write_all(int descriptor, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written =
        uninterrupted([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (written < 0) fail("write", path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// The process that made a temporary of this name, or 0 when it is no such name.
pid_t owner_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return 0;
  name.remove_prefix(kPrefix.size());
  pid_t owner = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), owner);
  return code == std::errc{} && *end == '-' && owner > 0 ? owner : 0;
}

void remove_stale_temporaries(const fs::path& folder) {
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const pid_t owner = owner_of(entry->path().filename().string());
    const bool gone = owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH;
    std::error_code not_removed;
    if (gone) fs::remove(entry->path(), not_removed);
  }
}

// The errno of what failed, or 0.
int sync_code(const fs::path& folder) {
  const int opened =
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (opened < 0) return errno;
  const int code = uninterrupted([&] { return ::fsync(opened); }) == 0 ? 0 : errno;
  ::close(opened);
  return code == EINVAL ? 0 : code;  // EINVAL: a file system without fsync for folders
}

void sync_folder(const fs::path& folder) {
  if (const int code = sync_code(folder); code != 0) fail("sync the folder", folder, code);
}

}  // namespace

bool is_temporary_name(std::string_view file_name) {
  return owner_of(file_name) > 0;
}

AtomicFile::AtomicFile(const fs::path& path)
    : path_(path), folder_(path.has_parent_path() ? path.parent_path() : fs::path(".")) {
  static std::atomic<std::uint64_t> counter = 0;
  std::error_code unknown;
  const fs::file_type kind = fs::status(path, unknown).type();
  if (kind != fs::file_type::regular && kind != fs::file_type::not_found && !unknown) {
    throw Error(ErrorKind::data, str("could not write ", path.string(), ": not a regular file"));
  }
  remove_stale_temporaries(folder_);
  temporary_ = folder_ / str(kPrefix, ::getpid(), "-", counter++, kSuffix);
  leftover_.emplace(temporary_.string());
  ::unlink(temporary_.c_str());  // left by a killed process that had this one's number
  descriptor_ = uninterrupted(
      [&] { return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
  if (descriptor_ < 0) fail("write", path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!committed_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write_all(descriptor_, bytes, path_);
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void AtomicFile::sync() {
  if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0) fail("write", path_, errno);
  if (close_failed(std::exchange(descriptor_, -1))) fail("write", path_, errno);
}

void AtomicFile::rename() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("write", path_, errno);
  committed_ = true;
}

void AtomicFile::commit() {
  if (descriptor_ >= 0) sync();
  rename();
  sync_folder(folder_);
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

void write_files_atomically(std::span<const NewFile> files) {
  std::vector<std::unique_ptr<AtomicFile>> written;
  for (const NewFile& file : files) {
    written.push_back(std::make_unique<AtomicFile>(file.path));
    written.back()->write(file.bytes);
  }
  for (const auto& file : written) file->sync();
  for (const auto& file : written) file->rename();
  if (!written.empty()) sync_folder(written.front()->folder_);
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void create_folder(const fs::path& folder, std::error_code& code) {
  std::vector<fs::path> parents;  // that get a new entry; the last one perhaps in an earlier run
  fs::path at = folder.lexically_normal();
  if (!at.has_filename()) at = at.parent_path();
  std::error_code unknown;
  bool is_new = true;
  while (is_new && at.has_relative_path()) {
    const fs::path parent = at.has_parent_path() ? at.parent_path() : fs::path(".");
    is_new = !fs::exists(at, unknown);
    parents.push_back(parent);
    at = at.parent_path();
  }
  fs::create_directories(folder, code);
  for (const fs::path& parent : parents) {
    if (code) return;
    const int failed = sync_code(parent);
    // A folder that may be passed through but not read cannot be synced.
    if (failed != 0 && failed != EACCES) code.assign(failed, std::system_category());
  }
}

bool is_folder(const fs::path& folder, std::error_code& code) {
  fs::path at = folder;  // or what is there of the folders above it
  struct stat found {};
  while (::lstat(at.c_str(), &found) != 0 && errno == ENOENT) {
    at = at.has_parent_path() ? at.parent_path() : fs::path(".");
  }
  const bool is_there = at == folder;
  int failed = 0;
  if (::stat(at.c_str(), &found) != 0) {
    failed = errno == ENOENT ? EEXIST : errno;  // a link that leads nowhere
  } else if (!S_ISDIR(found.st_mode)) {
    failed = ENOTDIR;
  } else if (!is_there && ::access(at.c_str(), W_OK | X_OK) != 0) {
    failed = errno;
  }
  if (failed != 0) code.assign(failed, std::system_category());
  return is_there && failed == 0;
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  const int file = uninterrupted(
      [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); });
  if (file < 0) fail("write", path, errno);
  try {
    write_all(file, bytes, path);
  } catch (...) {
    ::close(file);
    throw;
  }
  if (close_failed(file)) fail("write", path, errno);
}

// O_NONBLOCK: opening a pipe must not wait for its writer.
InputFile::InputFile(const fs::path& path)
    : path_(path),
      descriptor_(
          uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); })) {
  if (descriptor_ < 0) fail("open", path, errno);
  struct stat status {};
  const int code = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (code == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  ::close(descriptor_);
  if (code != 0) fail("open", path, code);
  throw Error(ErrorKind::data, str(path.string(), ": expected a regular file"));
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

void InputFile::read(std::span<std::byte> out, std::uint64_t offset) const {
  while (!out.empty()) {
    const ssize_t count = uninterrupted(
        [&] { return ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset)); });
    if (count < 0) fail("read", path_, errno);
    if (count == 0) {
      throw Error(ErrorKind::data, str(path_.string(), ": ends at byte ", offset, ", expected ",
                                       out.size(), " more"));
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

}  // namespace weft::data
