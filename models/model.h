// SPDX-License-Identifier: MIT
// A trained model on disk: model.safetensors, loadable by PyTorch as a state dict.
//
// Tensors carry PyTorch's names ("conv1.weight"). The metadata entry "weft" is a JSON object with
// everything predict and eval need besides the values: network, input size, class names,
// normalisation, data set, and how it was trained. A state dict saved from PyTorch has no such
// entry: the network is then recognised from names and shapes, and MNIST's normalisation is
// assumed.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/sets/dataset.h"
#include "layers/network/sequential.h"
#include "models/answers/calibration.h"
#include "models/files/safetensors.h"
#include "models/networks/networks.h"

namespace weft::models {

// How probabilities come of a network's last values, its logits.
enum class Output {
  softmax,  // of all of them: a picture shows one class
  sigmoid,  // of each alone: several classes may be above 50 %, or none
};
// "softmax", "sigmoid"; throws usage for other text.
Output parse_output(std::string_view text);
std::string_view name_of(Output output);

// Who says a model's mean and stddev.
enum class NormalisationSource {
  training,  // Weft trained the model with them
  file,      // the operators at the input of the file that it was imported from
  flags,     // the user who imported it
  measured,  // labelled pictures, which it reads best so
  assumed,   // nobody
};
// "training", "file", "flags", "measured", "assumed"; throws usage for other text.
NormalisationSource parse_normalisation(std::string_view text);
std::string_view name_of(NormalisationSource source);

struct ValueRange {
  float least = 0, most = 0;
};

// Where a model of Weft's comes from.
struct Origin {
  std::string version, commit,
      commit_date;   // of the program that trained it (data/versions/build_info.h)
  std::string data;  // checksum of the images, hexadecimal
  // The training settings that are not those of a TrainConfig(), but for the network and the places
  // of files: "schedule.peak" and the value as JSON.
  std::vector<std::pair<std::string, std::string>> settings;

  bool is_known() const { return !version.empty(); }
};
std::string to_json(const Origin& origin);

struct ModelInfo {
  NetworkOptions network;
  std::string dataset = {};                     // empty: not known
  std::vector<std::string> class_names;         // classes of them
  std::vector<float> mean = {0}, stddev = {1};  // of pixel / 255, one for each channel
  NormalisationSource normalisation = NormalisationSource::training;
  Output output = Output::softmax;
  bool recognised = false;               // true: no weft metadata, the network was inferred
  data::Fit fit = data::Fit::letterbox;  // how a picture of another size is brought to this one
  int sample_bits = 0;                   // data::Dataset::sample_bits
  bool own_data = false;  // trained on data of the user's own: a picture is taken whole, as it is
  int epochs = 0;
  double test_accuracy = -1;     // 0..1; negative: not known
  std::int64_t test_images = 0;  // that it was measured on
  Calibration calibration = {};  // of probabilities and of being unsure
  Origin origin = {};
  // What each layer makes of training images (models/int8/ranges.h); empty: not measured.
  std::vector<ValueRange> ranges = {};
};

// The metadata entry "weft" as one line of JSON, and back. Numbers survive the round trip exactly.
// Reading throws data, prefixed by `where`, for text that is not strict JSON, lacks a field or
// holds a value out of range.
std::string to_json(const ModelInfo& info);
ModelInfo model_info_from_json(std::string_view text, const std::string& where);

// What a data set says of the models that are trained on it.
ModelInfo info_of(const data::Dataset& dataset);

// Threads may share a model that nobody writes. Classifiers and evaluations copy its weights.
struct Model {
  ModelInfo info;
  std::unique_ptr<layers::Sequential> net;
  std::vector<float> parameters;  // flat, in net->slices() order
  std::vector<float> buffers;
};

// `path` may be a model.safetensors or a run directory that holds one. Throws data when it is
// missing, damaged, or its tensors do not match the network (naming tensor, expected, found).
Model load_model(const std::filesystem::path& path);

// The tensors and metadata of a model file; written with write_safetensors().
SafeTensors model_content(const Model& model);

}  // namespace weft::models
