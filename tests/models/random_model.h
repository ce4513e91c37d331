// SPDX-License-Identifier: MIT
// Models with random numbers.
#pragma once

#include <random>
#include <string>

#include "models/model.h"

namespace weft::test {

// Parameters and running statistics are random, so that no two layers may be mistaken.
inline models::Model random_model(const models::NetworkOptions& network) {
  models::Model model;
  model.info.network = network;
  model.net = models::make_network(network);
  for (std::int64_t i = 0; i < network.classes; ++i) {
    model.info.class_names.push_back("class " + std::to_string(i));
  }
  std::mt19937 random(7);
  std::uniform_real_distribution<float> number(0.1f, 1);  // a variance is positive
  model.parameters.resize(static_cast<std::size_t>(model.net->parameter_count()));
  model.buffers.resize(static_cast<std::size_t>(model.net->buffer_count()));
  for (float& value : model.parameters) value = number(random) - 0.5f;
  for (float& value : model.buffers) value = number(random);
  return model;
}

inline models::NetworkOptions network_file(const std::string& definition) {
  models::NetworkOptions network;
  network.name = "test.net";
  network.definition = definition;
  network.channels = 2;
  network.height = network.width = 8;
  network.classes = 3;
  return network;
}

}  // namespace weft::test
