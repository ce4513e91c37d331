// SPDX-License-Identifier: MIT
#include "data/own_data.h"

#include <algorithm>
#include <utility>

#include "data/folder/alike.h"
#include "data/folder/layout.h"
#include "data/folder/links.h"
#include "data/joined.h"
#include "data/labels/picture_labels.h"
#include "data/picture/image.h"
#include "data/sets/cifar.h"
#include "data/tables/idx_files.h"
#include "data/tables/tables.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

// Are there pictures in a folder of the folder, or further down? Then tables beside them are not
// the data.
bool has_folders_of_pictures(const TreePath& folder) {
  const std::vector<std::string> names = list_folder(folder).folders;
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return holds_pictures_below(folder / name); });
}

// What the folder, or the root of an archive, holds beside folders of pictures.
std::optional<Dataset> load_files(const TreePath& folder, const FolderOptions& options) {
  if (!options.label_pattern.empty()) {
    const PictureTree tree = pictures_by_pattern(folder, options.label_pattern, options.holding);
    return load_pictures(folder, tree, options);
  }
  if (std::optional<Dataset> dataset = load_idx_files(folder)) return dataset;
  if (std::optional<Dataset> dataset = load_cifar(folder)) return dataset;
  if (const std::optional<PictureTree> tree = pictures_by_table(folder, options)) {
    return load_pictures(folder, *tree, options);
  }
  if (!holds_tables(folder) || has_folders_of_pictures(folder)) return std::nullopt;
  return load_tables(folder, options);
}

// A file is one of four IDX files, or a table.
std::optional<Dataset> load_file(const fs::path& file, const FolderOptions& options) {
  const std::string name = file.filename().string();
  if (!is_idx_name(name)) return load_tables(file, options);
  const fs::path folder = file.parent_path();
  return load_idx_files(folder.empty() ? "." : folder, name);
}

// Files of other programs, by their endings.
constexpr std::pair<std::string_view, std::string_view> kUnread[] = {
    {".parquet", "Parquet"}, {".mat", "MATLAB"},        {".h5", "HDF5"},
    {".hdf5", "HDF5"},       {".tfrecord", "TFRecord"}, {".tfrecords", "TFRecord"},
    {".arff", "ARFF"},       {".7z", "7-Zip"},          {".rar", "RAR"},
    {".pt", "PyTorch"},      {".pth", "PyTorch"},       {".feather", "Feather"},
    {".arrow", "Arrow"},     {".mdb", "LMDB"},          {".rec", "RecordIO"},
    {".xlsx", "Excel"},      {".xls", "Excel"},         {".joblib", "joblib"},
    {".sqlite", "SQLite"},   {".db", "SQLite"},         {".rds", "R"},
    {".rdata", "R"}};

void refuse_unread(const fs::path& path) {
  const std::string file = path.filename().string();
  for (const auto& [ending, format] : kUnread) {
    if (!file.ends_with(ending) && !file.ends_with(std::string(ending) + ".gz")) continue;
    if (ending == ".parquet") {
      throw Error(ErrorKind::data,
                  str(path.string(),
                      ": this program reads no Parquet files, but weft.train() in Python does; ",
                      "docs/own-data.md has five lines that make folders of pictures of them"));
    }
    throw Error(
        ErrorKind::data,
        str(path.string(), ": Weft reads no ", format, " files; save the images and labels ",
            "with numpy.savez(\"data.npz\", x=images, y=labels), and give --data data.npz"));
  }
}

// What a folder without any data set holds instead.
void refuse_empty(const TreePath& folder) {
  const Listing listing = list_folder(folder);
  if (listing.folders.empty() && has_pictures(listing)) {
    throw Error(
        ErrorKind::data,
        str(folder.string(), " holds pictures, and nothing says what they show: expected a ",
            "folder for each class, a table of labels such as labels.csv, or ",
            "--label-pattern for labels in their names"));
  }
  if (!listing.folders.empty() || listing.files.empty()) return;
  for (const std::string& file : listing.files) {
    refuse_unread((folder / file).string());
    if (has_archive_ending(file)) {
      throw Error(ErrorKind::data, str((folder / file).string(),
                                       ": an archive in another one, or in a folder: give --data ",
                                       "the inner one"));
    }
  }
  throw Error(ErrorKind::data,
              str(folder.string(), " holds ", printable(listing.files.front()),
                  listing.files.size() == 1
                      ? std::string(" alone")
                      : str(" and ", listing.files.size() - 1, " more files, but no data"),
                  ": expected a folder of pictures for each class, ", kTableFormats,
                  ", or files of IDX or CIFAR"));
}

// "train", which has no other training set beside it; "mnist_train" alone is only a wrapping.
bool is_set_name(const std::string& folder) {
  const std::optional<SplitName> set = split_name(folder);
  return set && set->prefix.empty();
}

void check_shape(const ImageSet& set, const PictureShape& shape, const TreePath& path) {
  if ((shape.channels == 0 || shape.channels == set.channels) &&
      (shape.height == 0 || (shape.height == set.height && shape.width == set.width))) {
    return;
  }
  throw Error(ErrorKind::usage,
              str(path.string(), " holds images of ", set.channels, " x ", set.height, " x ",
                  set.width, ", and only pictures in folders can get another size"));
}

// The name of the folder, or of the file without its endings.
std::string name_of(const fs::path& path) {
  std::error_code unknown;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, unknown), unknown);
  const std::string name = whole.filename().string();
  if (name.empty()) return "data";
  return fs::is_directory(path, unknown) ? name : name.substr(0, name.find('.', 1));
}

Dataset load_one(const fs::path& path, const FolderOptions& options) {
  std::error_code unknown;
  const bool is_folder = fs::is_directory(path, unknown);
  if (!is_folder && !fs::is_regular_file(path, unknown)) {
    throw Error(ErrorKind::data,
                str("--data: there is no folder ", path.string(), ", and no such file"));
  }
  if (!is_folder && (has_picture_ending(path) || has_ending_of_unread_picture(path))) {
    throw Error(ErrorKind::data,
                str(path.string(), " is a picture: expected a folder with a folder ",
                    "of pictures for each class, or a table"));
  }
  const bool is_archive = !is_folder && has_archive_ending(path);
  if (!is_folder) refuse_unread(path);
  if (is_folder) judge_links(path, links_out_of(path), options.links, options.log);
  const bool is_tree = is_folder || is_archive;
  TreePath inner = is_archive ? open_archive(path) : TreePath(path);
  std::optional<Dataset> dataset = is_tree ? load_files(inner, options) : load_file(path, options);
  // An archive often unpacks into one folder, which holds all.
  constexpr int kMostWrappings = 8;  // a symbolic link may make them endless
  for (int i = 0; i < kMostWrappings && !dataset; ++i) {
    const std::optional<std::string> wrapped = wrapped_folder(inner);
    const std::optional<std::string> name = wrapped ? wrapped : only_folder_of_data(inner);
    if (!name || is_set_name(*name)) break;
    const std::string passed_over = passed_over_line(list_folder(inner).passed_over);
    if (options.log && !passed_over.empty()) options.log(passed_over);
    if (options.log) {
      options.log(str("entered ", *name, "/, the only folder ",
                      wrapped ? "" : "with folders of pictures ", "in ", inner.string()));
    }
    inner = inner / *name;
    dataset = load_files(inner, options);
  }
  if (!dataset && is_tree) dataset = load_texts(inner, options);
  if (!dataset) {
    refuse_empty(inner);
    dataset = load_folder(inner, options);
  } else {
    check_shape(dataset->train, options.shape, inner);
  }
  dataset->name = name_of(path);
  dataset->source = path.string();
  dataset->fit = options.shape.fit;
  dataset->own_data = true;
  return std::move(*dataset);
}

}  // namespace

std::vector<fs::path> own_data_paths(const fs::path& path) {
  const std::string text = path.string();
  std::error_code unknown;
  if (text.find('\n') == text.npos || fs::exists(path, unknown)) return {path};
  std::vector<fs::path> paths;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    paths.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return paths;
}

Dataset load_own_data(const fs::path& path, const FolderOptions& options) {
  const std::vector<fs::path> paths = own_data_paths(path);
  if (paths.size() == 1) return load_one(path, options);
  std::vector<Dataset> parts;
  FolderOptions like_first = options;
  for (const fs::path& part : paths) {
    parts.push_back(load_one(part, like_first));
    const Dataset& first = parts.front();
    const ImageSet& images = first.train.count > 0 ? first.train : first.test;
    like_first.shape.channels = images.channels;
    like_first.shape.height = images.height;
    like_first.shape.width = images.width;
  }
  return joined(std::move(parts));
}

}  // namespace weft::data
