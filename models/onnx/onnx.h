// SPDX-License-Identifier: MIT
// Models as ONNX files (https://onnx.ai), to be run by other programs, and back.
//
// The files are read and written with the ONNX project's own protobuf definitions. A build without
// them has these functions too: they throw usage and say what to install. docs/onnx.md tells which
// operators stand for which layers.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/names.h"
#include "models/answers/normalisation.h"
#include "models/model.h"

namespace weft::models {

// Sets of operators: the usual one, and those that may be asked for.
inline constexpr std::int64_t kOnnxOpset = 17, kLeastOnnxOpset = 11, kMostOnnxOpset = 22;

// Was this program built with the ONNX definitions?
bool knows_onnx();

// fp16: tensors and arithmetic of 16 bits between two Casts. int8: convolutions and linear layers
// between QuantizeLinear and DequantizeLinear, with a scale for each of their filters, and filters
// of -63 to 63, which no processor's 8-bit products overflow.
enum class OnnxPrecision { fp32, fp16, int8 };
inline constexpr Named<OnnxPrecision> kOnnxPrecisions[] = {
    {"fp32", OnnxPrecision::fp32}, {"fp16", OnnxPrecision::fp16}, {"int8", OnnxPrecision::int8}};

struct OnnxExport {
  std::int64_t opset = 0;  // the set of operators; 0: kOnnxOpset, or the least that has all layers
  OnnxPrecision precision = OnnxPrecision::fp32;
};

// The network in inference: the input "input" is (batch, channels, height, width) of normalised
// pixels, and the output "logits" is (batch, classes). It is "probabilities", behind a Sigmoid, of
// a model whose Output that is. Tensors have the names that they have in model.safetensors. The
// metadata entry "weft" is that of model.safetensors, and "definition" the network's text.
// Crash-safe as write_file_atomically() is. Throws usage for a model whose file would have 2 GiB or
// more, which no protobuf file can have, for a set of operators that lacks some, and for int8 of a
// model without ranges (models/int8/ranges.h).
void write_onnx(const data::OutputPath& to, const Model& model, const OnnxExport& options = {});

// What a file that Weft did not write leaves open.
struct OnnxImport {
  // Channels, height and width of one image. Needed where the file's input is no image of fixed
  // size.
  std::optional<std::array<std::int64_t, 3>> input = {};
  // What the file reads of a pixel: (pixel / 255 - mean) / stddev, with a number for each channel
  // or one for all. None: what the file's own operators tell, or pixel / 255, which is then
  // assumed.
  std::vector<double> mean = {}, stddev = {};
  std::vector<std::string> class_names = {};  // else those of the file, or "0", "1", ...
  std::string output = {};  // its name; else the first that is a vector of classes
};

struct OnnxModel {
  Model model;
  InputScale scale = {};         // that the file applies itself, and the model's numbers hold
  bool softmax_dropped = false;  // the graph ended in one
  std::vector<std::string> notices = {};  // what people should know, a sentence each
};

// Throws data for a file that is damaged or no network of Weft's layers, naming the node and its
// operator, and usage for options that do not fit it. Takes memory in proportion to the file.
OnnxModel read_onnx(const std::filesystem::path& path, const OnnxImport& options = {});

}  // namespace weft::models
