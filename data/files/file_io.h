// SPDX-License-Identifier: MIT
// Whole files: crash-safe writing, and reading that trusts neither the file's kind nor its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "data/files/directory.h"

namespace weft::data {

// Where a file is written.
//
// A path is what the user named. A file or a link that is there is replaced. A character device, a
// pipe and a descriptor of the program, as /dev/stdout and /dev/fd/3, are written into.
// A name in an open folder is Weft's choice, and a stranger may have laid something there: only a
// regular file of the user's own is replaced, as Directory::require_own_file() has it.
class OutputPath {
 public:
  OutputPath(std::filesystem::path path) : path_(std::move(path)) {}
  OutputPath(const std::string& path) : path_(path) {}
  OutputPath(const char* path) : path_(path) {}
  OutputPath(const Directory& directory, std::string_view name)
      : path_(directory.path() / name), directory_(directory) {}

  const std::filesystem::path& path() const { return path_; }
  const std::optional<Directory>& directory() const { return directory_; }

 private:
  std::filesystem::path path_;
  std::optional<Directory> directory_;
};

inline OutputPath operator/(const Directory& directory, std::string_view name) {
  return {directory, name};
}

// Is it written into, and not replaced?
bool is_stream(const OutputPath& to);

// Replaces a file in one step: a temporary beside it, fsync, rename, fsync of the folder. Readers
// see the old content or the new, whatever happens. When it fails (no space, no permission) the
// temporary is removed and Error{data} names the path and the system's reason. A pipe that nobody
// reads for 5 s is such an error.
void write_file_atomically(const OutputPath& to, std::span<const std::byte> bytes);
void write_file_atomically(const OutputPath& to, std::string_view text);

// The same for a file that is written part by part; without commit() nothing of it stays, but for
// what has gone into a stream.
class AtomicFile {
 public:
  explicit AtomicFile(const OutputPath& to);

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // All of it is on disk; only commit() may follow.
  void sync();
  void commit();
  // The file that another program may write, and that commit() gives its name. None of a stream.
  std::filesystem::path temporary_path() const { return temporary_ ? temporary_->path() : ""; }

 private:
  friend void write_files_atomically(std::span<const struct NewFile> files);
  void rename();

  std::filesystem::path path_;
  std::optional<Directory> directory_;  // none: a stream
  std::optional<Temporary> temporary_;
  Descriptor stream_;
};

// Files of one folder, each replaced in one step and in this order, once all of them are on disk:
// little more than half the waiting of one by one.
struct NewFile {
  OutputPath path;
  std::vector<std::byte> bytes;
};
void write_files_atomically(std::span<const NewFile> files);
std::vector<std::byte> bytes_of(std::string_view text);

// Creates the folder, and those above it that are missing, so that it outlives a power cut. `code`
// tells what failed.
void create_folder(const std::filesystem::path& folder, std::error_code& code);
// Is the folder there? If not, `code` tells what create_folder() would fail with. Writes nothing.
bool is_folder(const std::filesystem::path& folder, std::error_code& code);

// Writes a new file that need not outlive a power cut, such as one of thousands in a folder that
// gets its name when all are there. Error{data} names the path and the system's reason.
void write_new_file(const Directory& directory, const std::string& name,
                    std::span<const std::byte> bytes);

// A regular file open for reading. Everything that goes wrong is Error{data} with the path.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  // As Directory::open_own_file() takes it.
  InputFile(const Directory& directory, const std::string& name);

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  // Is it still the file of this name in the directory?
  bool is_current(const Directory& directory, const std::string& name) const;
  // Fills `out` from byte `offset` on; a file that ends early is an error.
  void read(std::span<std::byte> out, std::uint64_t offset) const;

 private:
  void take_size();

  std::filesystem::path path_;
  Descriptor open_;
  std::uint64_t size_ = 0;
};

}  // namespace weft::data
