// SPDX-License-Identifier: MIT
// Models that read pictures of any size: what predict and serve ask of a model before it sees one.
#pragma once

#include "data/preprocess.h"
#include "models/model.h"

namespace weft::cli {

inline constexpr std::int64_t kPictureSide = 28;  // what data::prepare_image delivers

// Throws usage when the network's input is not kPictureSide x kPictureSide.
models::Model load_picture_model(const std::string& path);

// Centring ink as MNIST's makers did suits written characters, not pictures of clothes.
data::Preprocess preprocess_for(const models::ModelInfo& info, const data::GreyImage& image);

}  // namespace weft::cli
