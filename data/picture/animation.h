// SPDX-License-Identifier: MIT
// Animated PNG: a series of PNGs of one kind in one file, which browsers play.
//
// The compressed rows of each PNG are taken over as they are, so nothing is decoded and no picture
// changes. A program that knows PNG only shows the first one.
#pragma once

#include <span>

#include "data/files/gzip.h"

namespace weft::data {

struct AnimationTimes {
  int milliseconds = 50;         // each frame
  int last_milliseconds = 1500;  // the last one
};

// Plays for ever. All frames have the same width, height, depth and colour type, and no palette.
// Throws data, naming the frame, for one that is not such a PNG; usage when there is no frame.
Bytes encode_animation(std::span<const Bytes> pngs, const AnimationTimes& times = {});

}  // namespace weft::data
