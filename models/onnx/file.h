// SPDX-License-Identifier: MIT
// An ONNX file as a message of protobuf, and the values of its tensors. Nothing in it is trusted.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace weft::models {

inline constexpr std::int64_t kMostOnnxBytes = (std::int64_t{1} << 31) - 1;  // as protobuf has it

// Throws Error{data} for what is no ONNX model, and for one that would take much more memory than
// the file has bytes: two of them can stand for an object of 200. Values in other files are read
// too, where they lie in the same folder.
onnx::ModelProto read_onnx_file(const std::filesystem::path& path);

// The extents of a tensor whose values are in the file, are of `type` and are as many as the
// extents say. Throws Error{data}, prefixed by `where`, for any other.
std::vector<std::int64_t> checked_extents(const onnx::TensorProto& tensor,
                                          onnx::TensorProto::DataType type,
                                          const std::string& where);
// The values of a tensor that checked_extents() took.
std::vector<float> floats_of(const onnx::TensorProto& tensor);
std::vector<std::int64_t> integers_of(const onnx::TensorProto& tensor);

}  // namespace weft::models
