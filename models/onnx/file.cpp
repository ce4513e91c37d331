// SPDX-License-Identifier: MIT
#include "models/onnx/file.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

#include <cstring>
#include <span>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "engine/text.h"
#include "models/onnx/external.h"

namespace weft::models {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::CodedInputStream;

// Protobuf itself reads messages in messages to a depth of 100.
constexpr int kMostDepth = 100;
constexpr int kMostDimensions = 8;
// More memory than twice the file's bytes that a graph of thousands of nodes may take.
constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20;

// Walks a message without keeping anything of it, and counts the memory that it would take when
// parsed, generously. False for what is no message.
class MemoryCounter {
 public:
  explicit MemoryCounter(std::span<const std::byte> bytes)
      : in_(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  bool count(const Descriptor& message, int depth = 0) {
    constexpr std::uint64_t kMessage = 256, kText = 48, kNumber = 8;
    if (depth > kMostDepth) return false;
    while (const std::uint32_t tag = in_.ReadTag()) {
      const FieldDescriptor* field = message.FindFieldByNumber(static_cast<int>(tag >> 3));
      std::uint64_t number = 0;
      std::uint32_t size = 0;
      bytes_ += kNumber;
      switch (tag & 7) {
        case 0:
          if (!in_.ReadVarint64(&number)) return false;
          break;
        case 1:
          if (!in_.Skip(8)) return false;
          break;
        case 2: {
          if (!in_.ReadVarint32(&size) || size > static_cast<std::uint32_t>(INT32_MAX)) {
            return false;
          }
          if (field != nullptr && field->type() == FieldDescriptor::TYPE_MESSAGE) {
            bytes_ += kMessage;
            const auto limit = in_.PushLimit(static_cast<int>(size));
            if (!count(*field->message_type(), depth + 1)) return false;
            in_.PopLimit(limit);
            break;
          }
          // Four or eight bytes for each of a list of numbers that may have one in the file.
          const bool numbers = field != nullptr && field->is_packable() &&
                               field->type() != FieldDescriptor::TYPE_FLOAT &&
                               field->type() != FieldDescriptor::TYPE_DOUBLE;
          bytes_ += numbers ? kNumber * size : kText + size;
          if (!in_.Skip(static_cast<int>(size))) return false;
          break;
        }
        case 5:
          if (!in_.Skip(4)) return false;
          break;
        default:
          return false;  // groups, which ONNX has not
      }
    }
    return in_.ConsumedEntireMessage();
  }

  std::uint64_t bytes() const { return bytes_; }

 private:
  CodedInputStream in_;
  std::uint64_t bytes_ = 0;
};

template <class Value, class List>
std::vector<Value> values_of(const onnx::TensorProto& tensor, const List& list) {
  if (!tensor.has_raw_data()) return {list.begin(), list.end()};
  std::vector<Value> values(tensor.raw_data().size() / sizeof(Value));  // little-endian
  if (!values.empty())
    std::memcpy(values.data(), tensor.raw_data().data(), tensor.raw_data().size());
  return values;
}

}  // namespace

onnx::ModelProto read_onnx_file(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& problem) {
    throw Error(ErrorKind::data, str(path.string(), ": ", problem));
  };
  const data::InputFile file(path);
  if (file.size() > static_cast<std::uint64_t>(kMostOnnxBytes)) {
    fail(str("an ONNX file is smaller than 2 GiB, this one has ", file.size(), " bytes"));
  }
  std::vector<std::byte> bytes(file.size());
  file.read(bytes, 0);
  google::protobuf::SetLogHandler(nullptr);  // it would write to stderr
  MemoryCounter memory(bytes);
  if (!memory.count(*onnx::ModelProto::descriptor())) {
    fail("is no ONNX file, or one that is cut off or damaged");
  }
  if (memory.bytes() > 2 * file.size() + kFreeBytes) {
    fail(str("its ", file.size(), " bytes would take ", memory.bytes(), " bytes of memory"));
  }
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail("is no ONNX file, or one that is cut off or damaged");
  }
  if (!model.has_graph()) fail("is no ONNX file: it holds no graph");
  read_external_data(model, path, static_cast<std::uint64_t>(kMostOnnxBytes) - file.size());
  return model;
}

std::vector<std::int64_t> checked_extents(const onnx::TensorProto& tensor,
                                          onnx::TensorProto::DataType type,
                                          const std::string& where) {
  const auto fail = [&](const std::string& problem) {
    throw Error(ErrorKind::data,
                str(where, ": the tensor ", in_quotes(tensor.name()), " ", problem));
  };
  if (tensor.data_type() != type) {
    const auto name = [](int number) {
      return onnx::TensorProto::DataType_IsValid(number)
                 ? onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto::DataType>(number))
                 : str("type ", number);
    };
    fail(str("is of ", name(tensor.data_type()), "; Weft takes ", name(type)));
  }
  if (tensor.data_location() != onnx::TensorProto::DEFAULT || tensor.external_data_size() > 0) {
    fail("says that its values are in another file, but not as ONNX does");
  }
  if (tensor.has_segment()) fail("is one part of a tensor, which Weft does not read");
  if (tensor.dims_size() > kMostDimensions) {
    fail(str("has ", tensor.dims_size(), " dimensions, more than ", kMostDimensions));
  }
  const std::vector<std::int64_t> extents(tensor.dims().begin(), tensor.dims().end());
  const bool is_float = type == onnx::TensorProto::FLOAT;
  std::int64_t bytes = is_float ? sizeof(float) : sizeof(std::int64_t);
  std::int64_t found = bytes * (is_float ? tensor.float_data_size() : tensor.int64_data_size());
  if (tensor.has_raw_data()) found = static_cast<std::int64_t>(tensor.raw_data().size());
  bool fits = true;
  for (const std::int64_t extent : extents) {
    fits = fits && extent >= 0 && !__builtin_mul_overflow(bytes, extent, &bytes);
  }
  if (!fits || bytes != found) {
    std::string shape;
    for (const std::int64_t extent : extents) {
      shape += str(shape.empty() ? "" : ", ", extent);
    }
    fail(str("has the shape (", shape, "), which does not fit its ", found, " bytes of values"));
  }
  return extents;
}

std::vector<float> floats_of(const onnx::TensorProto& tensor) {
  return values_of<float>(tensor, tensor.float_data());
}

std::vector<std::int64_t> integers_of(const onnx::TensorProto& tensor) {
  return values_of<std::int64_t>(tensor, tensor.int64_data());
}

}  // namespace weft::models
