// SPDX-License-Identifier: MIT
// A build without the ONNX definitions.
#include "engine/error.h"
#include "models/onnx/onnx.h"

namespace weft::models {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& path) {
  throw Error(ErrorKind::usage,
              str(path.string(), ": this program was built without ONNX: install libonnx-dev ",
                  "and libprotobuf-dev, and build it again"));
}

}  // namespace

bool knows_onnx() {
  return false;
}

void write_onnx(const data::OutputPath& to, const Model&, const OnnxExport&) {
  refuse(to.path());
}

OnnxModel read_onnx(const std::filesystem::path& path, const OnnxImport&) {
  refuse(path);
}

}  // namespace weft::models
