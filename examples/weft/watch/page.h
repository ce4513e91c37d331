// SPDX-License-Identifier: MIT
// The page of `weft kernel watch`: what warps did, to be stepped through in a browser.
#pragma once

#include <string>
#include <vector>

#include "host_cuda/access/access_trace.h"

namespace weft::cli {

// A number that the page tells beside the picture, and where it comes from.
struct Figure {
  std::string name, text;
  std::string origin;  // "counted here", "by the formula", "measured there"
};

// What happens when the barrier of a line, or the padding that helps a line, is taken out.
struct Broken {
  std::string line, text;
  std::string what = "the barrier of";
};

// One program that was watched while it ran.
struct Watched {
  std::string title;    // "scan/kogge_stone"
  std::string summary;  // a sentence; or empty
  std::string problem;  // "sum of 1000 floats"
  AccessTrace trace = {};
  std::vector<KernelCounts> counts = {};  // of the whole run
  std::vector<Figure> figures = {};       // behind those of `counts`
  std::vector<Broken> broken = {};        // change by change
  double bytes = 0;  // that the problem's arrays have, by the formula; 0: not known
};

// One self-contained page of HTML for one program, or for two side by side.
std::string watch_page(const std::vector<Watched>& watched);

// What the counts of a run come to: sectors and passes against the fewest, barriers, divergence.
std::vector<Figure> counted_figures(const std::vector<KernelCounts>& counts);
// What its memory requests cost against the fewest transactions, and which line loses most.
std::string finding(const Watched& watched);
std::string grouped(std::uint64_t number);  // 1234567: "1,234,567"
// How the second differs from the first.
std::string difference(const Watched& first, const Watched& second);

extern const char* const kWatchHtml;  // made by CMake from the files of this folder
extern const char* const kWatchCss;
extern const char* const kWatchJs;

}  // namespace weft::cli
