// SPDX-License-Identifier: MIT
// What a trainer fits the calibration of its model on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/sets/dataset.h"
#include "data/sets/hands.h"
#include "models/answers/calibration.h"

namespace weft::models {

class CalibrationImages {
 public:
  // Held-out images, and hard pictures drawn from them where `with_hard`.
  CalibrationImages(const data::ImageSet& held_out, bool with_hard, std::uint64_t seed);

  const data::ImageSet* hard() const { return hard_ ? &hard_->images : nullptr; }

  // The logits are (images, classes) of the held-out images, and of the hard ones where there are
  // any.
  Calibration fit(std::span<const float> held_out_logits, std::span<const float> hard_logits) const;

 private:
  std::vector<std::int32_t> labels_;                // (images,)
  std::vector<double> variation_, hard_variation_;  // (images,)
  std::optional<data::HardPictures> hard_;
};

}  // namespace weft::models
