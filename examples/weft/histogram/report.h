// SPDX-License-Identifier: MIT
// How a histogram is shown and written: table, CSV, JSON, .npy and a plot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/arrays/npy.h"
#include "examples/weft/histogram/counts.h"
#include "examples/weft/output/plot.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {

struct Histogram {
  std::string title;              // what was counted, printable
  std::string subtitle;           // "1 000 000 float32, 50 bins"
  bool is_picture = false;        // channels of byte values; else one array
  std::vector<double> edges;      // bins + 1
  std::vector<Channel> channels;  // one, named "count", for an array

  std::size_t bins() const { return edges.size() - 1; }
};

// Neighbouring bins together, so that the rows fit a screen; bars where there is room.
std::string histogram_table(const Histogram& histogram, const Terminal& terminal);
// lower,upper,count, or lower,upper,red,green,blue,luminance.
std::string histogram_csv(const Histogram& histogram);
// (bins,) of an array, (channels, bins) of a picture; i8.
data::NpyArray histogram_npy(const Histogram& histogram);
Plot histogram_plot(const Histogram& histogram);

}  // namespace weft::cli
