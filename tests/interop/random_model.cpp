// SPDX-License-Identifier: MIT
// Writes a model with random parameters and running statistics, untrained:
//   random_model NETWORK|FILE.net OUT.safetensors
#include <cstdio>
#include <random>

#include "models/model.h"

int main(int argc, char** argv) {
  using namespace weft;
  if (argc != 3) return static_cast<int>(ErrorKind::usage);
  try {
    models::Model model;
    models::NetworkOptions& network = model.info.network;
    if (models::is_network_file(argv[1])) {
      network = models::read_network(argv[1]);
    } else {
      network.name = argv[1];
    }
    model.net = models::make_network(network);
    for (int label = 0; label < 10; ++label) {
      model.info.class_names.push_back(std::to_string(label));
    }
    model.parameters = model.net->initial_parameters(1);
    model.buffers = model.net->initial_buffers();
    std::mt19937 random(2);
    std::uniform_real_distribution<float> around(0.5f, 1.5f);
    for (const layers::NamedSlice& slice : model.net->slices()) {
      auto& values = slice.trainable ? model.parameters : model.buffers;
      // PyTorch's initial weights make the values smaller from layer to layer, so that logits would
      // hardly depend on the picture; with these they are of a size of 1 to 10.
      const float factor = slice.shape.rank() < 2 ? 1 : model.buffers.empty() ? 2.0f : 1.6f;
      // Means become numbers around 0, and variances numbers around 1.
      const float shift = slice.name.ends_with(".running_mean") ? -1 : 0;
      for (std::int64_t i = 0; i < slice.shape.elements(); ++i) {
        float& value = values[static_cast<std::size_t>(slice.offset + i)];
        value = slice.trainable ? value * factor * around(random) : around(random) + shift;
      }
    }
    models::write_safetensors(argv[2], models::model_content(model));
  } catch (const Error& error) {
    std::fprintf(stderr, "random_model: %s\n", error.what());
    return error.exit_code();
  }
  return 0;
}
