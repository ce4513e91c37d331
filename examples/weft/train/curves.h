// SPDX-License-Identifier: MIT
// curves.svg: loss and accuracy per epoch as one self-contained picture.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/training/trainer.h"

namespace weft::cli {

// The picture of a run, in the reader's colour scheme. Whiskers on the test accuracy are one
// binomial standard error.
std::string curves_svg(const std::vector<models::EpochRecord>& history, std::string_view title);

// The same as separate pictures for a page: loss, accuracy, and the training loss by step.
std::vector<std::string> curve_panels(const std::vector<models::EpochRecord>& history,
                                      const std::vector<models::StepRecord>& log);

}  // namespace weft::cli
