// SPDX-License-Identifier: MIT
// Tensors of an ONNX file whose values lie in another file beside it.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>

namespace weft::models {

// Reads the values of such tensors into the model. A tensor names its file by a path relative to
// the folder of `path`, and no path leads out of that folder, neither by its words nor by a link.
// The bytes are at most `most`, and not many more than the files have, of which several tensors
// could name the same ones. Throws Error{data} that names the tensor.
void read_external_data(onnx::ModelProto& model, const std::filesystem::path& path,
                        std::uint64_t most);

}  // namespace weft::models
