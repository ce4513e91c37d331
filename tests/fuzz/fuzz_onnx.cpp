// SPDX-License-Identifier: MIT
// Any bytes are an ONNX file that becomes a model, or one line of error that names the file.
// libFuzzer calls this (run.sh); replay.cpp calls it with the files of a corpus.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <iostream>

#include "models/onnx/onnx.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "fuzz_onnx: " << what << "\n";
  std::abort();
}

// A file in memory, which is read by its name like any other.
std::string file_with(const std::uint8_t* bytes, std::size_t size) {
  static const int file = memfd_create("fuzz", 0);
  require(file >= 0 && ftruncate(file, static_cast<off_t>(size)) == 0 &&
              pwrite(file, bytes, size, 0) == static_cast<ssize_t>(size),
          "no file in memory");
  return "/proc/self/fd/" + std::to_string(file);
}

void check(const weft::models::Model& model) {
  const auto classes = static_cast<std::int64_t>(model.info.class_names.size());
  require(model.net->output_shape(1) == weft::Shape{1, classes}, "other outputs than classes");
  require(std::ssize(model.parameters) == model.net->parameter_count() &&
              std::ssize(model.buffers) == model.net->buffer_count(),
          "not as many values as the network has");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::clock_t kMost = 2 * CLOCKS_PER_SEC;  // of the processor
  const std::clock_t begin = std::clock();
  const std::string path = file_with(bytes, size);
  for (const bool with_input : {false, true}) {
    weft::models::OnnxImport options;
    if (with_input) options.input = {1, 8, 8};
    try {
      check(weft::models::read_onnx(path, options).model);
    } catch (const weft::Error& error) {
      const std::string_view line = error.what();
      require(error.kind() == weft::ErrorKind::data || error.kind() == weft::ErrorKind::usage,
              "an error of another kind");
      require(line.starts_with(path) || error.kind() == weft::ErrorKind::usage,
              "an error that does not name the file");
      for (const char c : line) require(c >= ' ' && c <= '~', "an error that is not one line");
    }
  }
  require(std::clock() - begin < kMost, "took more than 2 s");
  return 0;
}
