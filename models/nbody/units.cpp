// SPDX-License-Identifier: MIT
#include "models/nbody/units.h"

namespace weft::models {

std::span<const Units> units() {
  constexpr double kGauss = 0.01720209895 * 365.25;
  static constexpr Units kUnits[] = {{"natural", 1, "", "", ""},
                                     {"astronomical", kGauss * kGauss, "au", "years", "suns"},
                                     {"si", 6.67430e-11, "m", "s", "kg"}};
  return kUnits;
}

}  // namespace weft::models
