// SPDX-License-Identifier: MIT
// curves.svg: loss and accuracy per epoch as one self-contained picture.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/trainer.h"

namespace weft::cli {

// Readable on light and dark backgrounds: it has no background of its own and its colours follow
// the reader's colour scheme. Whiskers on the test accuracy are one binomial standard error.
std::string curves_svg(const std::vector<models::EpochRecord>& history, std::string_view title);

}  // namespace weft::cli
