// SPDX-License-Identifier: MIT
// A data set as a folder of pictures.
#include <unistd.h>

#include "data/file_io.h"
#include "data/folder.h"
#include "engine/error.h"
#include "engine/leftovers.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

Error cannot_write(const fs::path& path, const std::string& why) {
  return Error(ErrorKind::data, str("could not write ", path.string(), ": ", why));
}

void write_set(const ImageSet& set, const std::vector<std::string>& class_names,
               const fs::path& folder) {
  for (const std::string& name : class_names) fs::create_directories(folder / name);
  for (std::int64_t image = 0; image < set.count; ++image) {
    const auto label = static_cast<std::size_t>(set.labels[static_cast<std::size_t>(image)]);
    const Bytes png =
        encode_png(interleaved(set, image), set.width, set.height, static_cast<int>(set.channels));
    const fs::path path = folder / class_names[label] / str(image, ".png");
    write_file(path, std::as_bytes(std::span(png)));
  }
}

}  // namespace

void write_folder(const Dataset& dataset, const fs::path& folder) {
  std::error_code code;
  if (fs::exists(fs::symlink_status(folder, code))) throw cannot_write(folder, "it exists already");
  for (const std::string& name : dataset.class_names) {
    if (name.empty() || name.starts_with('.') || name.find('/') != name.npos) {
      throw Error(ErrorKind::data, str("the class ", name, " cannot be the name of a folder"));
    }
  }
  const fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  const fs::path part = parent / str(".weft-", ::getpid(), "-", folder.filename().string());
  const TemporaryPath leftover(part.string());
  try {
    write_set(dataset.train, dataset.class_names, part / "train");
    write_set(dataset.test, dataset.class_names, part / "test");
    fs::rename(part, folder);
  } catch (const fs::filesystem_error& error) {
    fs::remove_all(part, code);
    throw cannot_write(folder, error.code().message());
  } catch (...) {
    fs::remove_all(part, code);
    throw;
  }
}

}  // namespace weft::data
