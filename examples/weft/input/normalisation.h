// SPDX-License-Identifier: MIT
// How a model reads pixels, in words, and the line that says when nobody said so.
#pragma once

#include <string>

#include "models/model.h"

namespace weft::cli {

// "pixel / 255", or "(pixel / 255 - 0.1307) / 0.3081"; of several channels "(0.4914, 0.4822, ...)".
std::string normalisation_text(const models::ModelInfo& info);

// What is assumed of the model in `path`, and the flags that say another; empty where nothing is.
std::string assumption_of(const models::ModelInfo& info, const std::string& path);
// Prints it on stderr, where there is one.
void notice_assumption(const models::ModelInfo& info, const std::string& path);

}  // namespace weft::cli
