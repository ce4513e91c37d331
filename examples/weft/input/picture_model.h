// SPDX-License-Identifier: MIT
// Models that read pictures of any size: what predict and serve ask of a model before it sees one.
#pragma once

#include "data/preprocess.h"
#include "models/model.h"

namespace weft::cli {

inline constexpr std::int64_t kPictureSide = 28;  // what data::prepare_image delivers

// Does the model read a picture as it is, all of it? True after training on data of the user's own,
// and for every input but kPictureSide x kPictureSide in grey, in which ink is looked for.
bool takes_whole_pictures(const models::ModelInfo& info);

// Throws usage for a model that reads neither grey pictures nor coloured ones.
models::Model load_picture_model(const std::string& path);
// Throws usage unless the network's input is kPictureSide x kPictureSide in grey.
void check_reads_marks(const models::ModelInfo& info, const std::string& path);

// The whole picture as the model was trained to see such ones: its size, its channels and its fit.
// `inverts` swaps black and white.
data::PreparedImage prepare_whole(const models::ModelInfo& info, const data::RgbImage& image,
                                  bool inverts);

// Centring ink as MNIST's makers did suits written characters, not pictures of clothes.
data::Preprocess preprocess_for(const models::ModelInfo& info, const data::GreyImage& image);

}  // namespace weft::cli
