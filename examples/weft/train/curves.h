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

// The same as separate pictures for a page: loss and accuracy, and by step the training loss and
// the learning rate, of which `rates` has that of each step.
std::vector<std::string> curve_panels(const std::vector<models::EpochRecord>& history,
                                      const std::vector<models::StepRecord>& log,
                                      const std::vector<float>& rates);

}  // namespace weft::cli
