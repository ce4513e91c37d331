// SPDX-License-Identifier: MIT
// Histograms of arrays, counted as numpy.histogram() counts, and of pictures, per channel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/arrays/npy.h"
#include "data/picture/image.h"
#include "engine/device.h"
#include "kernels/histogram/histogram.h"

namespace weft::cli {

struct CountedArray {
  std::vector<double> edges;         // bins + 1; the last bin includes its upper edge
  std::vector<std::int64_t> counts;  // of each bin
  std::int64_t values = 0;           // of the array; those in no bin are one of the next four
  std::int64_t below = 0, above = 0, nan = 0, infinite = 0;
  double least = 0, greatest = 0, mean = 0;  // of the finite values; 0 when there are none
  double seconds = 0;                        // binning and counting

  std::int64_t counted() const { return values - below - above - nan - infinite; }
};

struct ValueRange {
  double lower = 0, upper = 0;
};

// NumPy's edges, bit for bit: in float for f4 without a range, else in double (and rounded to float
// for f4). Each value is compared with the edges themselves, so one that lies on an edge is in the
// bin above it. Unlike NumPy, NaN and infinities are left out and counted apart, and do not make
// the range an error. Throws usage for more bins than the range has room for.
CountedArray count_array(const data::NpyArray& array, std::int64_t bins,
                         std::optional<ValueRange> range, std::string_view variant, Device device);

struct Channel {
  std::string name;                  // "red", "green", "blue", "luminance"
  std::vector<std::int64_t> counts;  // of each value, 256 / bins values together
};

struct CountedPicture {
  std::vector<Channel> channels;  // only luminance for a picture without colour
  std::int64_t width = 0, height = 0;
  double seconds = 0;
};

// `bins` divides 256.
CountedPicture count_picture(const data::RgbImage& image, std::int64_t bins,
                             std::string_view variant, Device device);

}  // namespace weft::cli
