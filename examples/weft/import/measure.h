// SPDX-License-Identifier: MIT
// import --measure: which of the usual normalisations a network reads labelled pictures best with.
#pragma once

#include <string>
#include <vector>

#include "models/answers/normalisation.h"

namespace weft::cli {

struct MeasuredScale {
  models::UsualScale scale;
  double accuracy = 0;  // 0..1
};

struct Measurement {
  std::string data;                   // the name or the folder
  std::int64_t images = 0;            // of them, evenly taken from all
  std::vector<MeasuredScale> scales;  // in the order of usual_scales()
  std::size_t best = 0;               // the first of the most accurate ones
};

// `data` is the name of a data set, or a folder with pictures in folders of their classes. Throws
// data for a class that the model does not know, and usage for images that do not fit it.
Measurement measure_scales(models::Model& model, const models::InputScale& file,
                           const std::string& data, const std::string& progress);

}  // namespace weft::cli
