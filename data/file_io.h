// SPDX-License-Identifier: MIT
// Whole files: crash-safe writing, and reading that trusts neither the file's kind nor its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "engine/leftovers.h"

namespace weft::data {

// Replaces `path` in one step: a temporary file beside it, fsync, rename, fsync of the folder.
// Readers see the old content or the new, whatever happens. When it fails (no space, no permission)
// the temporary is removed and Error{data} names the path and the system's reason. What is there
// and is no regular file, as /dev/stdout, is refused: it would be replaced. Temporaries that a
// killed process left in the same folder are removed as well; remove_leftovers() removes this one.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

// The same for a file that is written part by part; without commit() nothing of it stays.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // All of it is on disk; only commit() may follow.
  void sync();
  void commit();

 private:
  friend void write_files_atomically(std::span<const struct NewFile> files);
  void rename();

  std::filesystem::path path_, folder_, temporary_;
  std::optional<TemporaryPath> leftover_;
  int descriptor_ = -1;
  bool committed_ = false;
};

// Files of one folder, each replaced in one step and in this order, once all of them are on disk:
// little more than half the waiting of one by one.
struct NewFile {
  std::filesystem::path path;
  std::vector<std::byte> bytes;
};
void write_files_atomically(std::span<const NewFile> files);
std::vector<std::byte> bytes_of(std::string_view text);

// Creates the folder, and those above it that are missing, so that it outlives a power cut. `code`
// tells what failed.
void create_folder(const std::filesystem::path& folder, std::error_code& code);
// Is the folder there? If not, `code` tells what create_folder() would fail with. Writes nothing.
bool is_folder(const std::filesystem::path& folder, std::error_code& code);

// Writes a file that need not outlive a power cut, such as one of thousands in a folder that gets
// its name when all are there. Error{data} names the path and the system's reason.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

// Is this the name of a temporary that write_file_atomically() makes?
bool is_temporary_name(std::string_view file_name);

// A regular file open for reading. Everything that goes wrong is Error{data} with the path.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  std::uint64_t size() const { return size_; }
  // Fills `out` from byte `offset` on; a file that ends early is an error.
  void read(std::span<std::byte> out, std::uint64_t offset) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace weft::data
