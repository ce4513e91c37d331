// SPDX-License-Identifier: MIT
// Models that read pictures of any size: what predict and serve ask of a model before it sees one.
#pragma once

#include "data/ink/preprocess.h"
#include "models/int8/int8_network.h"
#include "models/model.h"

namespace weft::cli {

// Sides, in pixels, of the grey inputs in which ink is looked for.
inline constexpr std::int64_t kLeastMarkSide = 14, kMostMarkSide = 64;

// Does the model read a picture as it is, all of it? True after training on data of the user's own,
// and for every input that is no drawn character: in colour, smaller or larger.
bool takes_whole_pictures(const models::ModelInfo& info);

// Throws usage for a model that reads neither grey pictures nor coloured ones.
void check_reads_pictures(const models::Model& model, const std::string& path);
models::Model load_picture_model(const std::string& path);
// Throws usage unless the network's input may be a drawn character.
void check_reads_marks(const models::ModelInfo& info, const std::string& path);

// The whole picture as the model was trained to see such ones: its size, its channels and its fit.
// `inverts` swaps black and white.
data::PreparedImage prepare_whole(const models::ModelInfo& info, const data::RgbImage& image,
                                  bool inverts);

// What data::prepare_image() has to deliver.
data::PictureSize picture_size(const models::ModelInfo& info);

// Is ink looked for in its pictures, unless the user says otherwise? Then they are loaded as
// data/ink/colour.h does.
bool looks_for_ink(const models::ModelInfo& info);

// Centring ink as MNIST's makers did suits written characters, not pictures of clothes.
data::Preprocess preprocess_for(const models::ModelInfo& info, const data::GreyImage& image);

// The model of this file in 8-bit integers, with a notice of the layers that stay in fp32. Throws
// usage, saying how to measure them, where it has no ranges.
models::Int8Network int8_network(const models::Model& model, const std::string& path);

}  // namespace weft::cli
