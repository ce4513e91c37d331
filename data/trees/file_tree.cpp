// SPDX-License-Identifier: MIT
#include "data/trees/file_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "engine/error.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kProgramFolders[] = {
    "__MACOSX", "__pycache__", "@eaDir", "$RECYCLE.BIN", "System Volume Information", "lost+found"};
constexpr std::string_view kSystemFiles[] = {"thumbs.db", "ehthumbs.db", "desktop.ini"};
constexpr std::string_view kArchiveEndings[] = {".zip",     ".tar",  ".tar.gz", ".tgz",
                                                ".tar.bz2", ".tbz2", ".tar.xz", ".txz"};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

template <class List>
bool lists(const List& list, std::string_view value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

class DiskStream : public FileStream {
 public:
  DiskStream(const fs::path& root, std::vector<std::string> files, std::size_t limit)
      : root_(root), files_(std::move(files)), limit_(limit) {}

  std::optional<File> next() override {
    const std::size_t index = next_++;
    if (index >= files_.size()) return std::nullopt;
    try {
      const std::string& file = files_[index];
      return File{index, read_file(file.empty() ? root_ : root_ / file, limit_), ""};
    } catch (const Error& error) {
      return File{index, {}, error.what()};
    }
  }

 private:
  const fs::path root_;
  const std::vector<std::string> files_;
  const std::size_t limit_;
  std::atomic<std::size_t> next_{0};
};

class DiskTree : public FileTree {
 public:
  explicit DiskTree(fs::path root) : root_(std::move(root)) {}

  std::string where(const std::string& path) const override { return at(path).string(); }

  Listing list(const std::string& folder) const override {
    Listing listing;
    std::error_code code;
    for (fs::directory_iterator entry(at(folder), code), end; !code && entry != end;
         entry.increment(code)) {
      std::error_code unknown;
      const bool is_folder = entry->is_directory(unknown);
      const bool is_link = entry->is_symlink(unknown);
      add_to(listing, entry->path().filename().string(), is_folder, is_link);
    }
    if (code) {
      throw Error(ErrorKind::data, str(where(folder), ": cannot be listed: ", code.message()));
    }
    sort_names(listing);
    return listing;
  }

  FileStatus status(const std::string& path) const override {
    struct stat found {};
    FileStatus status;
    if (::stat(at(path).c_str(), &found) != 0) {
      status.problem = std::strerror(errno);
      return status;
    }
    status.kind = S_ISREG(found.st_mode)   ? FileStatus::Kind::file
                  : S_ISDIR(found.st_mode) ? FileStatus::Kind::folder
                                           : FileStatus::Kind::other;
    status.bytes = static_cast<std::uint64_t>(found.st_size);
    status.modified = std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec;
    status.identity = {found.st_dev, found.st_ino};
    return status;
  }

  std::unique_ptr<FileStream> open(std::vector<std::string> files,
                                   std::size_t limit) const override {
    return std::make_unique<DiskStream>(root_, std::move(files), limit);
  }

  std::string stamp() const override { return ""; }

 private:
  fs::path at(const std::string& path) const { return path.empty() ? root_ : root_ / path; }

  const fs::path root_;
};

}  // namespace

TreePath::TreePath(const fs::path& on_disk) : tree_(std::make_shared<DiskTree>(on_disk)) {}

TreePath TreePath::operator/(const std::string& name) const {
  if (name.empty()) return *this;
  return {tree_, path_.empty() ? name : str(path_, "/", name)};
}

std::string TreePath::name() const {
  const std::string path = path_.empty() ? string() : path_;
  return path.substr(path.rfind('/') + 1);
}

Bytes TreePath::read(std::size_t limit) const {
  std::optional<FileStream::File> file = tree_->open({path_}, limit)->next();
  if (!file) throw Error(ErrorKind::data, str(string(), ": no such file"));
  if (!file->problem.empty()) throw Error(ErrorKind::data, file->problem);
  return std::move(file->bytes);
}

std::unique_ptr<FileStream> TreePath::open(std::vector<std::string> files,
                                           std::size_t limit) const {
  if (!path_.empty()) {
    for (std::string& file : files) file = str(path_, "/", file);
  }
  return tree_->open(std::move(files), limit);
}

bool has_archive_ending(const fs::path& file) {
  const std::string name = lower(file.filename().string());
  return std::any_of(std::begin(kArchiveEndings), std::end(kArchiveEndings),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

void add_to(Listing& listing, const std::string& name, bool is_folder, bool is_link) {
  const bool is_own = !name.starts_with('.') && (is_folder ? !lists(kProgramFolders, name)
                                                           : !lists(kSystemFiles, lower(name)));
  if (is_own) (is_folder ? listing.folders : listing.files).push_back(name);
  if (is_own && is_link) listing.links.push_back(name);
  if (!is_own && is_folder) listing.passed_over.push_back(name);
}

void sort_names(Listing& listing) {
  for (auto* names : {&listing.folders, &listing.files, &listing.passed_over, &listing.links}) {
    std::sort(names->begin(), names->end());
  }
}

}  // namespace weft::data
