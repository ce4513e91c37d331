// SPDX-License-Identifier: MIT
#include "examples/weft/input/picture_model.h"

#include <fmt/core.h>

#include "engine/error.h"

namespace weft::cli {

models::Model load_picture_model(const std::string& path) {
  models::Model model = models::load_model(path);
  const models::NetworkOptions& network = model.info.network;
  if (network.channels != 1) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: the network reads {} channels; pictures are prepared as grey, with 1",
                    path, network.channels));
  }
  if (network.height != kPictureSide || network.width != kPictureSide) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: the network reads {} x {} images; pictures are prepared as {} x {}", path,
                    network.height, network.width, kPictureSide, kPictureSide));
  }
  return model;
}

data::Preprocess preprocess_for(const models::ModelInfo& info, const data::GreyImage& image) {
  if (info.dataset != "fashion-mnist") return data::Preprocess::mnist;
  return image.width == kPictureSide && image.height == kPictureSide ? data::Preprocess::none
                                                                     : data::Preprocess::resize;
}

}  // namespace weft::cli
