// SPDX-License-Identifier: MIT
// An archive as a tree of files. Its entries are listed once; files are read in further passes, in
// the order that they have in the archive.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "data/files/archive.h"
#include "data/files/zip_index.h"
#include "data/trees/file_tree.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostEntries = std::size_t{1} << 21;
constexpr std::size_t kLongestPath = 4096;  // bytes; Linux allows no longer one on disk
constexpr std::size_t kMostNameBytes = std::size_t{1} << 29;
constexpr std::size_t kMostDepth = 64;

struct Member {
  std::size_t entry = 0;  // its place in the archive
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;
};
// The files that are read, by their place in the archive.
using Wanted = std::map<std::size_t, std::size_t>;

Error refused(const fs::path& archive, const std::string& what) {
  return Error(ErrorKind::data, str(archive.string(), ": ", what));
}

// One pass over the archive. Threads take turns in reading, which costs little beside decoding.
class ArchiveStream : public FileStream {
 public:
  ArchiveStream(const fs::path& archive, Wanted wanted, std::size_t limit)
      : archive_(archive), reader_(archive), wanted_(std::move(wanted)), limit_(limit) {}

  std::optional<File> next() override {
    const std::lock_guard lock(guard_);
    if (wanted_.empty()) return std::nullopt;
    while (std::optional<ArchiveEntry> entry = reader_.next()) {
      const auto found = wanted_.find(entry_++);
      if (found == wanted_.end()) continue;
      File file{found->second, {}, ""};
      wanted_.erase(found);
      try {
        file.bytes = reader_.read(limit_);
      } catch (const Error& error) {
        file.problem = error.what();
      }
      return file;
    }
    throw refused(archive_, "it changed while it was read");
  }

 private:
  const fs::path archive_;
  ArchiveReader reader_;
  Wanted wanted_;
  const std::size_t limit_;
  std::size_t entry_ = 0;
  std::mutex guard_;
};

// The files of a ZIP file, each read and inflated by the thread that asks for it.
class ZipStream : public FileStream {
 public:
  ZipStream(std::shared_ptr<const ZipIndex> zip, const Wanted& wanted, std::size_t limit)
      : zip_(std::move(zip)), wanted_(wanted.begin(), wanted.end()), limit_(limit) {}

  std::optional<File> next() override {
    const std::size_t place = next_++;
    if (place >= wanted_.size()) return std::nullopt;
    const auto [entry, index] = wanted_[place];
    try {
      return File{index, zip_->read(entry, limit_), ""};
    } catch (const Error& error) {
      return File{index, {}, error.what()};
    }
  }

 private:
  const std::shared_ptr<const ZipIndex> zip_;
  const std::vector<std::pair<std::size_t, std::size_t>> wanted_;
  const std::size_t limit_;
  std::atomic<std::size_t> next_{0};
};

class ArchiveTree : public FileTree {
 public:
  explicit ArchiveTree(const fs::path& archive) : archive_(archive), stamp_(stamp_of(archive)) {
    ArchiveReader reader(archive);
    std::optional<ZipIndex> zip = ZipIndex::open(archive);
    std::size_t place = 0;
    while (const std::optional<ArchiveEntry> entry = reader.next()) {
      if (place == kMostEntries) {
        throw refused(archive_, str("more than ", kMostEntries, " entries"));
      }
      if (zip && (place >= zip->size() || zip->name(place) != entry->name)) zip.reset();
      add(*entry, place++);
    }
    if (zip && place == zip->size()) zip_ = std::make_shared<const ZipIndex>(std::move(*zip));
    for (const auto& [path, member] : files_) {
      const auto [folder, name] = split(path);
      if (!folders_.contains(path)) add_to(listings_[folder], name, false, false);
    }
    for (auto& [path, listing] : listings_) sort_names(listing);
  }

  std::string where(const std::string& path) const override {
    return path.empty() ? archive_.string() : str(archive_.string(), "/", printable(path));
  }

  Listing list(const std::string& folder) const override {
    const auto found = listings_.find(folder);
    return found == listings_.end() ? Listing() : found->second;
  }

  FileStatus status(const std::string& path) const override {
    FileStatus status;
    if (folders_.contains(path)) {
      status.kind = FileStatus::Kind::folder;
    } else if (const auto found = files_.find(path); found != files_.end()) {
      status.kind = FileStatus::Kind::file;
      status.bytes = found->second.bytes;
      status.modified = found->second.modified;
    } else {
      status.problem = "there is no such file in the archive";
    }
    return status;
  }

  std::unique_ptr<FileStream> open(std::vector<std::string> files,
                                   std::size_t limit) const override {
    Wanted wanted;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto found = files_.find(files[i]);
      if (found == files_.end()) {
        throw Error(ErrorKind::data, str(where(files[i]), ": no such file"));
      }
      wanted.emplace(found->second.entry, i);
    }
    if (stamp_of(archive_) != stamp_) throw refused(archive_, "it changed while it was read");
    if (zip_) return std::make_unique<ZipStream>(zip_, wanted, limit);
    return std::make_unique<ArchiveStream>(archive_, std::move(wanted), limit);
  }

  std::string stamp() const override { return stamp_; }

 private:
  static std::string stamp_of(const fs::path& archive) {
    const FileStatus status = TreePath(archive).status();
    return str(status.bytes, ' ', status.modified, ' ', status.identity.second);
  }

  // "a/b" and "c" of "a/b/c"
  static std::pair<std::string, std::string> split(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return {"", path};
    return {path.substr(0, slash), path.substr(slash + 1)};
  }

  // The path below the root: without "./", doubled slashes and a slash at its beginning.
  std::string path_of(std::string name) {
    name_bytes_ += name.size();
    if (name.size() > kLongestPath || name_bytes_ > kMostNameBytes) {
      throw refused(archive_, str("the names in it are too long: ", name_bytes_, " bytes"));
    }
    if (name.find('/') == std::string::npos) std::replace(name.begin(), name.end(), '\\', '/');
    std::string path;
    std::size_t depth = 0;
    for (std::size_t at = 0; at < name.size();) {
      const std::size_t slash = std::min(name.find('/', at), name.size());
      const std::string part = name.substr(at, slash - at);
      at = slash + 1;
      if (part.empty() || part == ".") continue;
      if (part == "..") {
        throw refused(archive_, str("the name ", shown(name), " in it leads out of the archive"));
      }
      if (++depth > kMostDepth) {
        throw refused(archive_, str("more than ", kMostDepth, " folders in each other"));
      }
      path += path.empty() ? part : "/" + part;
    }
    return path;
  }

  void add(const ArchiveEntry& entry, std::size_t place) {
    const std::string path = path_of(entry.name);
    if (path.empty() || entry.kind == ArchiveEntry::Kind::other) return;
    if (entry.is_encrypted) {
      throw refused(archive_, str(shown(path), " in it is encrypted; unpack it with its password"));
    }
    if (entry.kind == ArchiveEntry::Kind::folder) return add_folder(path);
    files_[path] = {place, entry.bytes, entry.modified};  // the last one of a name counts
    add_folder(split(path).first);
  }

  // With those above it.
  void add_folder(const std::string& path) {
    if (path.empty() || !folders_.insert(path).second) return;
    const auto [above, name] = split(path);
    add_folder(above);
    add_to(listings_[above], name, true, false);
  }

  const fs::path archive_;
  const std::string stamp_;
  std::shared_ptr<const ZipIndex> zip_;  // none: libarchive alone can read it
  std::size_t name_bytes_ = 0;
  std::unordered_set<std::string> folders_ = {""};
  std::unordered_map<std::string, Member> files_;
  std::unordered_map<std::string, Listing> listings_;  // of folders with something in them
};

}  // namespace

TreePath open_archive(const fs::path& file) {
  return {std::make_shared<ArchiveTree>(file), ""};
}

}  // namespace weft::data
