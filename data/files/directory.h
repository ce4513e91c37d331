// SPDX-License-Identifier: MIT
// A folder that is held open. Its files are reached from it by name and never through a link, so
// that nobody who renames or replaces something can make the program use another file.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/leftovers.h"

namespace weft::data {

// An open descriptor, closed when it goes; move-only.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  // False, with errno, when the system reports what a delayed write could not do.
  bool close();

 private:
  int number_ = -1;
};

// Copies share the open folder.
class Directory {
 public:
  // Links in the path are followed, also in its last part. Error{data} with the system's reason.
  explicit Directory(const std::filesystem::path& path);
  // The same; nothing, and the reason in `code`, when it cannot be opened.
  static std::optional<Directory> open(const std::filesystem::path& path, std::error_code& code);

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return open_->number(); }

  // The status of what has this name, of a link itself; nothing when there is none.
  std::optional<struct stat> status(const std::string& name) const;
  std::vector<std::string> names() const;

  // Error{data} when the folder belongs to another user and this one is not root.
  void require_own() const;
  // Error{data} when what has this name is anything but a regular file with one name, of this user
  // or of the folder's owner: a link, a pipe, a device, a folder, a hard link.
  void require_own_file(const std::string& name) const;
  // Opens such a file; a closed descriptor when there is none.
  Descriptor open_own_file(const std::string& name, int flags) const;
  // The folder of this name in it. Error{data} when it is a link or another user's.
  Directory folder(const std::string& name) const;
  // The same; it is made when there is none.
  Directory make_folder(const std::string& name) const;

  // Error{data} with the system's reason. Does nothing where a file system cannot sync a folder.
  void sync() const;

 private:
  friend class Temporary;
  Directory(std::filesystem::path path, Descriptor opened);

  std::filesystem::path path_;
  std::shared_ptr<const Descriptor> open_;
};

// Is this the name of a Temporary?
bool is_temporary_name(std::string_view file_name);

// A file or a folder that is written before it gets its name, and is removed with all in it when it
// gets none. Its own name is drawn at random, so that nobody can lay something there before. It is
// locked as long as it is open, which tells every process and every container that its writer
// lives: those that nobody has locked are removed when this user makes the next one beside them.
// They stay on a file system without locks. remove_leftovers() removes it too.
class Temporary {
 public:
  enum class Kind { file, folder };
  // Error{data} says that `path`, for which it is made, could not be written.
  Temporary(const Directory& directory, Kind kind, const std::filesystem::path& path);
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary();

  std::filesystem::path path() const { return directory_.path() / name_; }
  int descriptor() const { return open_.number(); }
  // The folder itself. Errors name the path for which it is made.
  Directory folder() const;
  // Error{data} when the system reports what a delayed write could not do.
  void check_written() const;
  // Replaces what has this name in the directory.
  void rename(const std::string& name);

 private:
  bool make(Kind kind);
  void remove_stale() const;

  Directory directory_;
  std::filesystem::path path_;
  std::string name_;
  std::optional<TemporaryPath> leftover_;
  Descriptor open_;
  bool renamed_ = false;
};

}  // namespace weft::data
