// SPDX-License-Identifier: MIT
// An untrained network, which is enough to read pictures with.
#pragma once

#include <filesystem>
#include <string>

#include "models/model.h"

namespace weft::test {

inline models::Model untrained_model(std::int64_t side = 28) {
  models::Model model;
  model.info.network.height = model.info.network.width = side;
  for (int label = 0; label < 10; ++label) model.info.class_names.push_back(std::to_string(label));
  model.net = models::make_network(model.info.network);
  model.parameters = model.net->initial_parameters(1);
  model.buffers = model.net->initial_buffers();
  return model;
}

inline void write_untrained_model(const std::filesystem::path& path) {
  models::write_safetensors(path, models::model_content(untrained_model()));
}

}  // namespace weft::test
