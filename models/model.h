// SPDX-License-Identifier: MIT
// A trained model on disk: model.safetensors, loadable by PyTorch as a state dict.
//
// Tensors carry PyTorch's names ("conv1.weight"). The metadata entry "weft" is a JSON object with
// everything predict and eval need besides the values: network, input size, class names,
// normalisation, data set, and how it was trained. A state dict saved from PyTorch has no such
// entry: the network is then recognised from names and shapes, with MNIST's normalisation.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "layers/sequential.h"
#include "models/calibration.h"
#include "models/networks.h"
#include "models/safetensors.h"

namespace weft::models {

struct ModelInfo {
  NetworkOptions network;
  std::string dataset = "mnist";
  std::vector<std::string> class_names;                     // classes of them
  std::vector<float> mean = {0.1307f}, stddev = {0.3081f};  // of pixel / 255, one for each channel
  bool recognised = false;               // true: no weft metadata, the network was inferred
  data::Fit fit = data::Fit::letterbox;  // how a picture of another size is brought to this one
  bool own_data = false;  // trained on data of the user's own: a picture is taken whole, as it is
  int epochs = 0;
  double test_accuracy = -1;     // 0..1; negative: not known
  std::int64_t test_images = 0;  // that it was measured on
  Calibration calibration = {};  // of probabilities and of being unsure
};

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
