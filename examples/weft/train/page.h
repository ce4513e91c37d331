// SPDX-License-Identifier: MIT
// report.html: a finished run as one page.
#pragma once

#include <string>

#include "examples/weft/train/report.h"

namespace weft::cli {

// Curves, confusion matrix, scores per class, the worst mistakes, the recipe, the commands and all
// settings. The
// page needs nothing from outside, and follows the reader's colour scheme and width.
std::string report_page(const TrainFacts& facts, const models::Trainer& trainer,
                        const models::Model& model, const models::Evaluation& evaluation);

}  // namespace weft::cli
