// SPDX-License-Identifier: MIT
// Filters that see a window of odd size around each pixel. Windows end at the border of the
// picture. Internal to ink.cpp.
#pragma once

#include "data/picture/plane.h"

namespace weft::data {

Plane transposed(const Plane& plane);
Plane difference(const Plane& a, const Plane& b);  // a - b

// The largest or smallest value of the window, or the mean of a square one.
Plane window_max(const Plane& picture, std::int64_t width, std::int64_t height);
Plane window_min(const Plane& picture, std::int64_t width, std::int64_t height);
Plane window_mean(const Plane& picture, std::int64_t window);

// Dark parts into which no window fits become as bright as what is around them. Wider dark parts
// keep their level up to their edge.
Plane closing(const Plane& picture, std::int64_t width, std::int64_t height);
// The same with discs. They do not enter a stroke that crosses the edge of a shadow.
Plane disc_closing(const Plane& picture, std::int64_t diameter);
// closing() with dark and bright exchanged.
Plane opening(const Plane& picture, std::int64_t width, std::int64_t height);

}  // namespace weft::data
