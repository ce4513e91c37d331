// SPDX-License-Identifier: MIT
#include "data/files/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "data/files/system_call.h"
#include "engine/error.h"

namespace weft::data {

namespace fs = std::filesystem;

namespace {

void write_all(int descriptor, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written =
        uninterrupted([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (written < 0) fail_to("write", path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

[[noreturn]] void fail_no_file(const fs::path& path) {
  throw Error(ErrorKind::data, str("could not write ", path.string(), ": not a regular file"));
}

mode_t kind_at(const fs::path& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 ? found.st_mode & S_IFMT : 0;
}

// The descriptor of this process that /dev/stdout, /dev/fd/N or /proc/self/fd/N names, or -1.
// Links are followed below /dev and /proc only, where no stranger makes them.
int descriptor_named(const fs::path& path) {
  std::error_code unknown;
  fs::path at = fs::absolute(path, unknown).lexically_normal();
  const std::string text = at.string();
  if (!text.starts_with("/dev/") && !text.starts_with("/proc/")) return -1;
  const fs::path table = fs::canonical("/proc/self/fd", unknown);
  for (int links = 0; links < 8 && !unknown; ++links) {
    at = fs::canonical(at.parent_path(), unknown) / at.filename();
    if (unknown) return -1;
    if (at.parent_path() == table) {
      const std::string name = at.filename().string();
      int number = -1;
      const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), number);
      return code == std::errc{} && *end == '\0' ? number : -1;
    }
    at = at.parent_path() / fs::read_symlink(at, unknown);
  }
  return -1;
}

// A pipe is opened as soon as somebody reads it.
Descriptor open_pipe(const fs::path& path) {
  constexpr std::chrono::milliseconds kPause(10);
  constexpr std::chrono::seconds kLongest(5);
  for (auto waited = std::chrono::milliseconds(0);; waited += kPause) {
    Descriptor pipe(uninterrupted(
        [&] { return ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC); }));
    if (pipe.is_open()) {
      ::fcntl(pipe.number(), F_SETFL, O_WRONLY);  // writing waits for the reader
      return pipe;
    }
    if (errno != ENXIO) fail_to("write", path, errno);
    if (waited >= kLongest) {
      throw Error(ErrorKind::data,
                  str("could not write ", path.string(), ": nobody reads this pipe"));
    }
    std::this_thread::sleep_for(kPause);
  }
}

// Closed when the path is to be replaced.
Descriptor open_stream(const fs::path& path) {
  Descriptor stream;
  if (const int number = descriptor_named(path); number >= 0) {
    stream = Descriptor(::fcntl(number, F_DUPFD_CLOEXEC, 0));
  } else if (const mode_t kind = kind_at(path); kind == S_IFIFO) {
    return open_pipe(path);
  } else if (kind == S_IFCHR) {
    stream = Descriptor(uninterrupted(
        [&] { return ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC); }));
  } else {
    return stream;
  }
  if (!stream.is_open()) fail_to("write", path, errno);
  return stream;
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

}  // namespace

bool is_stream(const OutputPath& to) {
  if (to.directory()) return false;
  const mode_t kind = kind_at(to.path());
  return kind == S_IFIFO || kind == S_IFCHR || descriptor_named(to.path()) >= 0;
}

AtomicFile::AtomicFile(const OutputPath& to) : path_(to.path()), directory_(to.directory()) {
  const std::string name = path_.filename().string();
  if (directory_) {
    directory_->require_own_file(name);
  } else {
    stream_ = open_stream(path_);
    if (stream_.is_open()) return;
    std::error_code code;
    const fs::file_type kind = fs::status(path_, code).type();
    const bool is_new = kind == fs::file_type::regular || kind == fs::file_type::not_found;
    if (name.empty() || name == "." || name == ".." || (!is_new && !code)) fail_no_file(path_);
    directory_ = Directory::open(path_.parent_path(), code);
    if (!directory_) fail_to("write", path_, code.value());
  }
  temporary_.emplace(*directory_, Temporary::Kind::file, path_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write_all(temporary_ ? temporary_->descriptor() : stream_.number(), bytes, path_);
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void AtomicFile::sync() {
  if (temporary_) {
    temporary_->check_written();
  } else if (!stream_.close()) {
    fail_to("write", path_, errno);
  }
}

void AtomicFile::rename() {
  if (temporary_) temporary_->rename(path_.filename().string());
}

void AtomicFile::commit() {
  sync();
  rename();
  if (directory_) directory_->sync();
}

void write_file_atomically(const OutputPath& to, std::span<const std::byte> bytes) {
  AtomicFile file(to);
  file.write(bytes);
  file.commit();
}

void write_file_atomically(const OutputPath& to, std::string_view text) {
  write_file_atomically(to, std::as_bytes(std::span(text)));
}

void write_files_atomically(std::span<const NewFile> files) {
  std::vector<std::unique_ptr<AtomicFile>> written;
  for (const NewFile& file : files) {
    written.push_back(std::make_unique<AtomicFile>(file.path));
    written.back()->write(file.bytes);
  }
  for (const auto& file : written) file->sync();
  for (const auto& file : written) file->rename();
  if (!written.empty() && written.front()->directory_) written.front()->directory_->sync();
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

void write_new_file(const Directory& directory, const std::string& name,
                    std::span<const std::byte> bytes) {
  const fs::path path = directory.path() / name;
  Descriptor file(uninterrupted([&] {
    return ::openat(directory.descriptor(), name.c_str(),
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  }));
  if (!file.is_open()) fail_to("write", path, errno);
  write_all(file.number(), bytes, path);
  if (!file.close()) fail_to("write", path, errno);
}

// O_NONBLOCK: opening a pipe must not wait for its writer.
InputFile::InputFile(const fs::path& path)
    : path_(path),
      open_(
          uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); })) {
  if (!open_.is_open()) fail_to("open", path, errno);
  take_size();
}

InputFile::InputFile(const Directory& directory, const std::string& name)
    : path_(directory.path() / name), open_(directory.open_own_file(name, O_RDONLY)) {
  if (!open_.is_open()) fail_to("open", path_, errno);
  take_size();
}

void InputFile::take_size() {
  struct stat status {};
  if (::fstat(open_.number(), &status) != 0) fail_to("open", path_, errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::data, str(path_.string(), ": expected a regular file"));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

bool InputFile::is_current(const Directory& directory, const std::string& name) const {
  struct stat mine {};
  const auto named = directory.status(name);
  return named && ::fstat(open_.number(), &mine) == 0 && named->st_ino == mine.st_ino &&
         named->st_dev == mine.st_dev;
}

void InputFile::read(std::span<std::byte> out, std::uint64_t offset) const {
  while (!out.empty()) {
    const ssize_t count = uninterrupted([&] {
      return ::pread(open_.number(), out.data(), out.size(), static_cast<off_t>(offset));
    });
    if (count < 0) fail_to("read", path_, errno);
    if (count == 0) {
      throw Error(ErrorKind::data, str(path_.string(), ": ends at byte ", offset, ", expected ",
                                       out.size(), " more"));
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

}  // namespace weft::data
