// SPDX-License-Identifier: MIT
// Loading, downloading and verifying the data sets of the MNIST family.
#include "data/sets/mnist.h"

#include <future>

#include "data/files/download.h"
#include "data/files/file_io.h"
#include "data/files/gzip.h"
#include "data/files/sha256.h"
#include "data/sets/digits.h"
#include "data/sets/hands.h"
#include "data/sets/idx.h"
#include "data/sets/mnist_files.h"
#include "data/sets/shapes.h"
#include "data/sets/statistics.h"
#include "engine/error.h"
#include "engine/names.h"
#include "engine/timings.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kDigitsName = "digits", kShapesName = "shapes";
constexpr std::array<std::string_view, 7> kNames = {
    "mnist", kHandsName, "fashion-mnist", "kmnist", "emnist-digits", kDigitsName, kShapesName};
constexpr std::array<std::string_view, 2> kMirrors = {
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/"};
constexpr std::uint64_t kMaxDownload = 64u << 20;
constexpr std::int64_t kSide = 28;

void say(const FindOptions& options, const std::string& line) {
  if (options.log) options.log(line);
}

std::string where_to_put(const FamilyMember& member, const FindOptions& options) {
  std::string names;
  for (std::size_t i = 0; i < kRoles; ++i) {
    names += (i == 0 ? "" : ", ") + file_name(member, static_cast<FileRole>(i));
  }
  return str("put ", names, " (each with or without .gz) into ",
             download_folder(member, options).string(), "; they are at ", member.homepage);
}

struct CheckedFile {
  Bytes bytes;
  FileCheck check;
};

int rank_of(FileRole role) {
  return role == FileRole::train_images || role == FileRole::test_images ? 3 : 1;
}

CheckedFile read_and_hash(const fs::path& path, FileRole role, std::string_view expected) {
  CheckedFile file;
  {
    const TimedScope timed(str("read ", path.filename().string()));
    file.bytes = read_idx_bytes(path, rank_of(role));
  }
  file.check = {path, file.bytes.size(), "", std::string(expected)};
  const TimedScope timed(str("hash ", path.filename().string()));
  if (!expected.empty()) file.check.sha256 = sha256_hex(file.bytes);
  return file;
}

Error wrong_checksum(const FileCheck& check) {
  return Error(ErrorKind::data, str(check.path.string(), ": wrong SHA-256 (of the inflated data): ",
                                    "expected ", check.expected, ", found ", check.sha256));
}

IdxArray load_file(const Located& found, const FamilyMember& member, FileRole role) {
  const std::size_t i = static_cast<std::size_t>(role);
  CheckedFile file = read_and_hash(found.files[i], role, member.sha256[i]);
  // A malformed file is described by what is wrong with it, which says more than its hash.
  IdxArray array = parse_idx(std::move(file.bytes), rank_of(role), found.files[i].string());
  if (!file.check.ok()) throw wrong_checksum(file.check);
  return array;
}

ImageSet load_set(const Located& found, const FamilyMember& member, FileRole images,
                  FileRole labels) {
  IdxArray pixels = load_file(found, member, images), classes = load_file(found, member, labels);
  ImageSet set = join_images_and_labels(std::move(pixels), std::move(classes), 10);
  if (set.height != kSide || set.width != kSide) {
    throw Error(ErrorKind::data,
                str(found.files[static_cast<std::size_t>(images)].string(),
                    ": expected images of 28 x 28, found ", set.height, " x ", set.width));
  }
  if (member.transposed) transpose_images(set);
  return set;
}

Dataset load_files(const Located& found, const FamilyMember& member, bool test_only = false) {
  Dataset dataset;
  dataset.name = member.name;
  dataset.class_names.assign(member.class_names.begin(), member.class_names.end());
  dataset.source = found.folder.string();
  std::future<ImageSet> test =
      std::async(test_only ? std::launch::deferred : std::launch::async, load_set, std::cref(found),
                 std::cref(member), FileRole::test_images, FileRole::test_labels);
  if (!test_only) {
    dataset.train = load_set(found, member, FileRole::train_images, FileRole::train_labels);
  }
  dataset.test = test.get();
  if (test_only) return dataset;
  if (member.statistics) {
    dataset.mean = {static_cast<float>(member.statistics->mean)};
    dataset.stddev = {static_cast<float>(member.statistics->stddev)};
  } else {
    set_statistics(dataset);
  }
  return dataset;
}

// Downloads one file, checks it and moves it to `target`; returns why not, or "".
std::string download_checked(const std::string& url, const fs::path& target, FileRole role,
                             std::string_view expected) {
  if (is_stream(target)) return str(target.string(), " is not a regular file");
  try {
    AtomicFile file(target);
    std::string failure = download_with_curl(url, file.temporary_path(), kMaxDownload);
    if (!failure.empty()) return failure;
    const FileCheck check = read_and_hash(file.temporary_path(), role, expected).check;
    if (!check.ok()) return str("wrong SHA-256: expected ", expected, ", found ", check.sha256);
    file.commit();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Folders that are made now and are still empty at the end, as after a download that failed, are
// removed again.
class NewFolders {
 public:
  explicit NewFolders(const fs::path& folder) {
    std::error_code code;
    for (fs::path at = folder; !at.empty() && !fs::exists(at, code); at = at.parent_path()) {
      paths_.push_back(at);
    }
  }
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  ~NewFolders() {
    std::error_code not_empty;
    for (const fs::path& path : paths_) fs::remove(path, not_empty);
  }

 private:
  std::vector<fs::path> paths_;  // the innermost first
};

// Completes the files in a folder; returns why that was not possible, or "".
std::string download_missing(const FamilyMember& member, Located& found,
                             const FindOptions& options) {
  std::vector<std::string> mirrors = options.mirrors;
  if (mirrors.empty()) mirrors.assign(kMirrors.begin(), kMirrors.end());
  const NewFolders folders(found.folder);
  std::error_code code;
  fs::create_directories(found.folder, code);
  if (code) return str("cannot create ", found.folder.string(), ": ", code.message());
  for (std::size_t i = 0; i < kRoles; ++i) {
    if (!found.files[i].empty()) continue;
    const auto role = static_cast<FileRole>(i);
    const std::string file = file_name(member, role) + ".gz";
    std::string failures;
    for (const std::string& mirror : mirrors) {
      say(options, str("downloading ", mirror, file));
      const std::string failure =
          download_checked(mirror + file, found.folder / file, role, member.sha256[i]);
      if (failure.empty()) {
        found.files[i] = found.folder / file;
        break;
      }
      failures += str(failures.empty() ? "" : "; ", mirror, file, ": ", failure);
    }
    if (found.files[i].empty()) return failures;
  }
  return "";
}

Error incomplete(const Located& found, const FamilyMember& member) {
  return Error(ErrorKind::data, str(found.folder.string(), ": incomplete ", member.name, ": no ",
                                    found.first_missing(member), " (with or without .gz)"));
}

Error nowhere(const FamilyMember& member, const FindOptions& options) {
  std::string folders;
  for (const fs::path& folder : search_folders(member, options)) {
    folders += (folders.empty() ? "" : ", ") + folder.string();
  }
  return Error(ErrorKind::data,
               str("no ", member.name, " in ", folders, "; ", where_to_put(member, options)));
}

// The files, downloaded if need be and allowed; nothing when there are none.
std::optional<Located> locate_or_download(const FamilyMember& member, const FindOptions& options) {
  std::optional<Located> found = locate(member, options);
  if (found && found->complete()) return found;
  if (!member.downloadable || !options.allow_download) {
    if (found) throw incomplete(*found, member);
    return std::nullopt;
  }
  Located target = found ? *found : look_in(member, download_folder(member, options));
  const std::string failure = download_missing(member, target, options);
  if (failure.empty()) return target;
  say(options, str("no download: ", failure));
  if (found) throw incomplete(*found, member);
  return std::nullopt;
}

const FamilyMember& member_with_files(std::string_view name) {
  check_dataset_name(name);
  if (is_drawn(name)) {
    throw Error(ErrorKind::usage, str(name, " has no files: it is drawn by the program"));
  }
  return *find_member(name);
}

}  // namespace

bool is_drawn(std::string_view name) {
  return name == kDigitsName || name == kShapesName;
}

std::span<const std::string_view> dataset_names() {
  return kNames;
}

void check_dataset_name(std::string_view name) {
  if (is_drawn(name) || find_member(name) != nullptr) return;
  throw_unknown("data set", name, kNames);
}

DatasetInfo describe_dataset(std::string_view name, const FindOptions& options) {
  check_dataset_name(name);
  DatasetInfo info;
  if (is_drawn(name)) {
    const bool digits = name == kDigitsName;
    info.name = digits ? kDigitsName : kShapesName;
    info.title = digits ? "Procedural digits: drawn by the program, 60000 + 10000"
                        : "Procedural shapes in colour: drawn by the program, 20000 + 2000";
    info.generated = true;
    return info;
  }
  const FamilyMember& member = *find_member(name);
  info.name = member.name;
  info.title = member.title;
  if (name == kHandsName) {
    info.name = kHandsName;
    info.title = "MNIST and more hands: other pens and drawn digits, 160000 + 10000";
  }
  info.homepage = member.homepage;
  info.downloadable = member.downloadable;
  if (const std::optional<Located> found = locate(member, options)) {
    info.folder = found->folder;
    for (const fs::path& file : found->files) {
      if (!file.empty()) info.files.push_back(file);
    }
  }
  return info;
}

std::optional<Dataset> find_dataset(std::string_view name, const FindOptions& options) {
  check_dataset_name(name);
  if (name == kDigitsName) return generate_digits();
  if (name == kShapesName) return generate_shapes();
  const FamilyMember& member = *find_member(name);
  const std::optional<Located> found = locate_or_download(member, options);
  if (!found) return std::nullopt;
  Dataset dataset = load_files(*found, member, options.test_only);
  if (name == kHandsName) {
    dataset.name = kHandsName;
    if (!options.test_only) add_hands(dataset);
  }
  return dataset;
}

Dataset load_dataset(std::string_view name, const FindOptions& options) {
  std::optional<Dataset> dataset = find_dataset(name, options);
  if (!dataset) throw nowhere(*find_member(name), options);
  return std::move(*dataset);
}

fs::path fetch_dataset(std::string_view name, const FindOptions& options) {
  const FamilyMember& member = member_with_files(name);
  std::optional<Located> found = locate(member, options);
  if (found && found->complete()) return found->folder;
  if (!member.downloadable) {
    throw Error(ErrorKind::data,
                str(name, " cannot be downloaded from here: ", where_to_put(member, options)));
  }
  Located target = found ? *found : look_in(member, download_folder(member, options));
  const std::string failure = download_missing(member, target, options);
  if (!failure.empty()) throw Error(ErrorKind::data, str("no download: ", failure));
  return target.folder;
}

std::vector<FileCheck> verify_dataset(std::string_view name, const FindOptions& options) {
  const FamilyMember& member = member_with_files(name);
  const std::optional<Located> found = locate(member, options);
  if (!found) throw nowhere(member, options);
  if (!found->complete()) throw incomplete(*found, member);
  std::vector<FileCheck> checks;
  bool all_ok = true;
  for (std::size_t i = 0; i < kRoles; ++i) {
    CheckedFile file = read_and_hash(found->files[i], static_cast<FileRole>(i), member.sha256[i]);
    if (file.check.sha256.empty()) file.check.sha256 = sha256_hex(file.bytes);
    all_ok = all_ok && file.check.ok();
    checks.push_back(std::move(file.check));
  }
  if (all_ok) load_files(*found, member);
  return checks;
}

}  // namespace weft::data
