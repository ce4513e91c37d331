// SPDX-License-Identifier: MIT
#include "models/onnx/external.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::models {

namespace {

namespace fs = std::filesystem;

// What the tensors of a file may read twice, such as a tensor that two names share.
constexpr std::uint64_t kSharedBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostFiles = 1024;  // that are open at once

std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Is `path` inside of the folder? Both are without links.
bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

class ExternalReader {
 public:
  ExternalReader(const fs::path& path, std::uint64_t most) : path_(path), most_(most) {
    folder_ = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  }

  void read(onnx::TensorProto& tensor) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    const auto fail = [&](const std::string& problem) {
      throw Error(ErrorKind::data,
                  str(path_.string(), ": the tensor ", in_quotes(tensor.name()), " ", problem));
    };
    std::string location;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length;
    for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
      if (entry.key() == "location") location = entry.value();
      if (entry.key() != "offset" && entry.key() != "length") continue;
      const auto number = number_of(entry.value());
      if (!number) {
        fail(str("has the ", entry.key(), " ", in_quotes(entry.value()),
                 ", expected a number of bytes"));
      }
      if (entry.key() == "offset") offset = *number;
      if (entry.key() == "length") length = *number;
    }
    const data::InputFile* file = nullptr;
    try {
      file = open(location);
    } catch (const Error& error) {
      fail(str("keeps its values in another file: ", printable(error.what())));
    }
    if (file == nullptr) {
      fail(str("keeps its values in ", in_quotes(location),
               ", expected a file in the folder of the ONNX file"));
    }
    if (offset > file->size() || length.value_or(0) > file->size() - offset) {
      fail(str("has its values from byte ", offset, " of ", in_quotes(location), ", which has ",
               file->size(), " bytes"));
    }
    const std::uint64_t bytes = length.value_or(file->size() - offset);
    if (bytes > most_ - read_ || read_ + bytes > on_disk_ + kSharedBytes) {
      fail(str("makes more than ", std::min(most_, on_disk_ + kSharedBytes),
               " bytes of values in other files"));
    }
    read_ += bytes;
    std::string& values = *tensor.mutable_raw_data();
    values.resize(bytes);
    file->read(std::as_writable_bytes(std::span(values.data(), values.size())), offset);
    tensor.clear_external_data();
    tensor.clear_data_location();
  }

 private:
  // Null for what is outside of the folder. Throws for a file that cannot be read.
  const data::InputFile* open(const std::string& location) {
    const auto known = files_.find(location);
    if (known != files_.end()) return &known->second;
    const fs::path relative(location);
    const bool is_plain = !location.empty() && location.find('\0') == std::string::npos &&
                          relative.is_relative() &&
                          std::ranges::find(relative, fs::path("..")) == relative.end();
    if (!is_plain || files_.size() >= kMostFiles) return nullptr;
    std::error_code code;
    const fs::path folder = fs::canonical(folder_, code);
    if (code) return nullptr;
    const fs::path whole = fs::canonical(folder_ / relative, code);
    if (code) {
      throw Error(ErrorKind::data, str((folder_ / relative).string(), ": ", code.message()));
    }
    if (!is_inside(whole, folder)) return nullptr;
    const auto added = files_.emplace(location, data::InputFile(whole)).first;
    on_disk_ += added->second.size();
    return &added->second;
  }

  const fs::path& path_;
  fs::path folder_;
  std::uint64_t most_, read_ = 0, on_disk_ = 0;
  std::map<std::string, data::InputFile> files_;
};

}  // namespace

void read_external_data(onnx::ModelProto& model, const fs::path& path, std::uint64_t most) {
  ExternalReader reader(path, most);
  onnx::GraphProto& graph = *model.mutable_graph();
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) reader.read(tensor);
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) reader.read(*attribute.mutable_t());
    }
  }
}

}  // namespace weft::models
