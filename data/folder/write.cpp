// SPDX-License-Identifier: MIT
// A data set as a folder of pictures, and the new folder that it is written to.
#include "data/files/file_io.h"
#include "data/files/system_call.h"
#include "data/folder/folder.h"
#include "engine/error.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

void write_set(const ImageSet& set, const std::vector<std::string>& class_names,
               const Directory& folder) {
  std::vector<Directory> classes;
  for (const std::string& name : class_names) classes.push_back(folder.make_folder(name));
  for (std::int64_t image = 0; image < set.count; ++image) {
    const auto label = static_cast<std::size_t>(set.labels[static_cast<std::size_t>(image)]);
    const Bytes png =
        encode_png(interleaved(set, image), set.width, set.height, static_cast<int>(set.channels));
    write_new_file(classes[label], str(image, ".png"), std::as_bytes(std::span(png)));
  }
}

}  // namespace

void write_new_folder(const fs::path& folder, const std::function<void(const Directory&)>& write) {
  std::error_code unknown, code;
  if (fs::exists(fs::symlink_status(folder, unknown))) {
    throw Error(ErrorKind::data, str("could not write ", folder.string(), ": it exists already"));
  }
  fs::path path = folder.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // of "FOLDER/"
  if (path.has_parent_path()) create_folder(path.parent_path(), code);
  if (code) fail_to("write", folder, code.value());
  Temporary part(Directory(path.parent_path()), Temporary::Kind::folder, path);
  write(part.folder());
  part.rename(path.filename().string());
}

void write_folder(const Dataset& dataset, const fs::path& folder) {
  for (const std::string& name : dataset.class_names) {
    if (name.empty() || name.starts_with('.') || name.find('/') != name.npos) {
      throw Error(ErrorKind::data, str("the class ", name, " cannot be the name of a folder"));
    }
  }
  write_new_folder(folder, [&](const Directory& inside) {
    write_set(dataset.train, dataset.class_names, inside.make_folder("train"));
    if (dataset.validation.count > 0) {
      write_set(dataset.validation, dataset.class_names, inside.make_folder("val"));
    }
    write_set(dataset.test, dataset.class_names, inside.make_folder("test"));
  });
}

}  // namespace weft::data
