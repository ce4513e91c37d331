// SPDX-License-Identifier: MIT
// A tree of files that is read: a folder, or an archive (.zip, .tar, .tar.gz) as if it were one. An
// archive is not unpacked to disk.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/files/gzip.h"

namespace weft::data {

// The names in a folder, each list in byte order. Hidden files and those that systems write beside
// pictures (Thumbs.db, desktop.ini) are in none.
struct Listing {
  std::vector<std::string> folders, files;
  std::vector<std::string> passed_over;  // folders that are hidden, or a program's (__MACOSX)
  std::vector<std::string> links;        // those of folders and files that are symbolic links
};

struct FileStatus {
  enum class Kind { none, file, folder, other };

  Kind kind = Kind::none;
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;         // in nanoseconds
  std::string problem;               // why there is nothing: "No such file or directory"
  std::pair<dev_t, ino_t> identity;  // of a folder on disk, which links may lead to twice
};

// The files of a list, in any order, for any number of threads.
class FileStream {
 public:
  struct File {
    std::size_t index = 0;  // in the list
    Bytes bytes;
    std::string problem;  // why it cannot be read, or ""
  };

  virtual ~FileStream() = default;
  // Nothing behind the last one. Throws data when no further file can be read.
  virtual std::optional<File> next() = 0;
};

class FileTree {
 public:
  virtual ~FileTree() = default;
  // Paths are relative to the root, which is "".
  virtual std::string where(const std::string& path) const = 0;  // for messages
  virtual Listing list(const std::string& folder) const = 0;
  virtual FileStatus status(const std::string& path) const = 0;
  // The files, of at most `limit` bytes each.
  virtual std::unique_ptr<FileStream> open(std::vector<std::string> files,
                                           std::size_t limit) const = 0;
  // Changes when the tree does in a way that no status() of a file shows.
  virtual std::string stamp() const = 0;
};

// A file or a folder in a tree. Copies share the tree.
class TreePath {
 public:
  TreePath(const std::filesystem::path& on_disk);
  TreePath(std::shared_ptr<const FileTree> tree, std::string path)
      : tree_(std::move(tree)), path_(std::move(path)) {}

  TreePath operator/(const std::string& name) const;
  std::string string() const { return tree_->where(path_); }
  std::string name() const;  // the last part of the path
  FileStatus status() const { return tree_->status(path_); }
  bool is_file() const { return status().kind == FileStatus::Kind::file; }
  bool is_folder() const { return status().kind == FileStatus::Kind::folder; }
  std::string stamp() const { return tree_->stamp(); }
  // Throws data when there is no such file, or it has more bytes.
  Bytes read(std::size_t limit) const;
  // Files below this folder.
  std::unique_ptr<FileStream> open(std::vector<std::string> files, std::size_t limit) const;

  friend Listing list_folder(const TreePath& folder) { return folder.tree_->list(folder.path_); }

 private:
  std::shared_ptr<const FileTree> tree_;
  std::string path_;
};

// Throws data when the folder cannot be listed.
Listing list_folder(const TreePath& folder);

// By the ending of its name: .zip, .tar, .tar.gz, .tgz, .tar.bz2, .tbz2, .tar.xz or .txz, in any
// case of letters.
bool has_archive_ending(const std::filesystem::path& file);

// The root of an archive. Its entries are listed at once, and their bytes are read when they are
// asked for. Links in it are not followed, and "a\b" of a Windows program is b in the folder a.
// Throws data for what ArchiveReader refuses, for encrypted files, for a name that leads out of the
// archive, and when it changes while it is read.
TreePath open_archive(const std::filesystem::path& file);

// Puts the name into the list that it belongs to. Internal to the trees.
void add_to(Listing& listing, const std::string& name, bool is_folder, bool is_link);
void sort_names(Listing& listing);

}  // namespace weft::data
