// SPDX-License-Identifier: MIT
// The margin of one level around a photograph, as scanners and programs leave it. Internal to
// preprocess.cpp.
#pragma once

#include <optional>

#include "data/ink/ink.h"

namespace weft::data {

// Where the photograph is, without the pixels at its edge. None when the picture has no margin.
std::optional<InkBox> photograph_in_margin(const Plane& picture);

}  // namespace weft::data
