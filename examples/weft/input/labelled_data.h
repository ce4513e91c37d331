// SPDX-License-Identifier: MIT
// Labelled pictures in the shape and with the classes of a model that is there already.
#pragma once

#include "examples/weft/input/load_data.h"
#include "models/model.h"

namespace weft::cli {

// Reads a folder of pictures for a model: they get its size, channels and fit, and the labels
// become the model's. Throws data for a class that the model does not know.
data::Dataset load_own_for(const models::ModelInfo& model, const OwnDataFlags& flags,
                           data::Holding holding, const std::string& progress);

// The name of the data set that is asked for or that the model of this file was trained on; "" for
// data of the user's own. Throws usage where nothing says which.
std::string dataset_for(const models::ModelInfo& model, const std::string& path,
                        const DataFlags& flags);

// Throws usage unless the images of the test set fit the model.
void check_fit(const models::ModelInfo& model, const data::Dataset& dataset);

}  // namespace weft::cli
