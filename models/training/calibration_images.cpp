// SPDX-License-Identifier: MIT
#include "models/training/calibration_images.h"

namespace weft::models {

namespace {

constexpr std::int64_t kDamaged = 6000;  // digits, and as many pictures without a digit

std::vector<double> variation_of(const data::ImageSet& set) {
  std::vector<double> variation;
  for (std::int64_t i = 0; i < set.count; ++i) {
    variation.push_back(total_variation(set.image(i), set.height, set.width));
  }
  return variation;
}

}  // namespace

CalibrationImages::CalibrationImages(const data::ImageSet& held_out, bool with_hard,
                                     std::uint64_t seed)
    : labels_(held_out.labels), variation_(variation_of(held_out)) {
  if (!with_hard) return;
  hard_ = data::hard_pictures(held_out, seed, kDamaged);
  hard_variation_ = variation_of(hard_->images);
}

Calibration CalibrationImages::fit(std::span<const float> held_out_logits,
                                   std::span<const float> hard_logits) const {
  Calibration calibration = fit_calibration(held_out_logits, labels_, variation_);
  if (hard_) {
    calibration.certainty =
        fit_certainty(hard_logits, hard_->images.labels, hard_->is_digit, hard_variation_);
  }
  return calibration;
}

}  // namespace weft::models
