// SPDX-License-Identifier: MIT
#include "models/files/foreign.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "data/files/file_io.h"
#include "data/picture/image.h"
#include "engine/text.h"

namespace weft::models {

namespace fs = std::filesystem;

namespace {

using namespace std::string_view_literals;

// The length of a header, which may look like the beginning of another kind, and the header.
bool is_safetensors(std::string_view front, std::uint64_t file_bytes) {
  std::uint64_t header = 0;
  if (front.size() <= sizeof header) return false;
  std::memcpy(&header, front.data(), sizeof header);
  return header <= file_bytes - sizeof header && front[sizeof header] == '{';
}

// A ZIP archive says at its beginning only what its first file is called.
std::optional<ForeignFormat> format_of_zip(std::string_view front, const fs::path& file) {
  constexpr std::size_t kName = 30;  // behind the header of the first file
  const std::string_view name = front.substr(std::min(kName, front.size()));
  if (file.extension() == ".keras") return ForeignFormat::keras;
  if (file.extension() == ".npz") return ForeignFormat::npz;
  const auto names = [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  };
  if (names("/data.pkl") || names("/.format_version") || names("/version") || names("/byteorder")) {
    return ForeignFormat::torch;
  }
  if (names(".npy")) return ForeignFormat::npz;
  return names("config.json") || names("metadata.json") ? std::optional(ForeignFormat::keras)
                                                        : std::nullopt;
}

}  // namespace

std::string_view name_of(ForeignFormat format) {
  constexpr std::string_view kNames[] = {"an ONNX file",
                                         "a file of PyTorch",
                                         "an archive of NumPy's arrays",
                                         "a Python pickle",
                                         "an HDF5 file, as Keras writes it",
                                         "a file of Keras",
                                         "the index of several safetensors files",
                                         "a picture"};
  return kNames[static_cast<std::size_t>(format)];
}

std::optional<ForeignFormat> foreign_format(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;
  const data::InputFile file(path);
  std::string front(std::min<std::uint64_t>(file.size(), 128), '\0');
  file.read(std::as_writable_bytes(std::span(front)), 0);
  const std::string name = path.filename().string();
  if (is_safetensors(front, file.size())) return std::nullopt;
  if (front.starts_with("PK\3\4"sv)) return format_of_zip(front, path);
  if (front.starts_with("\x89HDF\r\n\x1a\n"sv)) return ForeignFormat::hdf5;
  if (front.size() >= 2 && front[0] == '\x80' && front[1] >= 2 && front[1] <= 5) {
    // PyTorch's old format begins with a number of its own.
    const bool is_torch = front.find("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv) < 16;
    return is_torch ? ForeignFormat::torch : ForeignFormat::pickle;
  }
  if (name.ends_with(".safetensors.index.json")) return ForeignFormat::shards;
  if (data::has_picture_ending(name)) return ForeignFormat::picture;
  return path.extension() == ".onnx" ? std::optional(ForeignFormat::onnx) : std::nullopt;
}

Error not_a_model(const fs::path& file, ForeignFormat format) {
  const std::string name = shell_word(file.string());
  if (format == ForeignFormat::picture) {
    return Error(ErrorKind::data, str(file.string(), ": ", name_of(format),
                                      ", and no model; the model comes first, then pictures"));
  }
  const std::string_view needs =
      format == ForeignFormat::onnx ? " --out RUN" : " --model NETWORK --out RUN";
  return Error(ErrorKind::data,
               str(file.string(), ": ", name_of(format), ", and no model of Weft's; `weft import ",
                   name, needs, "` makes one of it"));
}

}  // namespace weft::models
