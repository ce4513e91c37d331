// SPDX-License-Identifier: MIT
// The page of `weft export --format html`: a network and its weights, which read what is drawn.
#pragma once

#include <string>

#include "models/model.h"

namespace weft::cli {

// One self-contained page of HTML. `notice` is what people should know of the model, or empty.
// Throws usage for a network with more weights than a browser's string holds, and for one with a
// layer that the page's script cannot compute, naming it.
std::string model_page(const models::Model& model, const std::string& notice);

}  // namespace weft::cli
