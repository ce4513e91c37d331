// SPDX-License-Identifier: MIT
// Any bytes are an ONNX file that becomes a model, or one line of error that names the file.
#include "models/onnx/onnx.h"
#include "tests/fuzz/fuzz.h"

namespace {

using weft::fuzz::require;

void check(const weft::models::Model& model) {
  const auto classes = static_cast<std::int64_t>(model.info.class_names.size());
  require(model.net->output_shape(1) == weft::Shape{1, classes}, "other outputs than classes");
  require(std::ssize(model.parameters) == model.net->parameter_count() &&
              std::ssize(model.buffers) == model.net->buffer_count(),
          "not as many values as the network has");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const weft::fuzz::TimeLimit limit(2);
  const std::string path = weft::fuzz::file_with({bytes, size});
  for (const bool with_input : {false, true}) {
    weft::models::OnnxImport options;
    if (with_input) options.input = {1, 8, 8};
    try {
      check(weft::models::read_onnx(path, options).model);
    } catch (const weft::Error& error) {
      if (error.kind() == weft::ErrorKind::usage) {  // of the input that was asked for
        weft::fuzz::require_one_line(error.what(), "");
      } else {
        weft::fuzz::require_data_error(error, path);
      }
    }
  }
  return 0;
}
