// SPDX-License-Identifier: MIT
// The ways people write a digit, as key points of pen strokes. Internal to digits.cpp.
#pragma once

#include <vector>

namespace weft::data {

struct KeyPoint {
  float x, y;   // about 0..100, y down
  bool corner;  // the pen turns sharply here; elsewhere the curve is smooth
};

using KeyStroke = std::vector<KeyPoint>;

struct DigitStyle {
  float weight = 1;  // how common the style is, relative to the others of its digit
  std::vector<KeyStroke> strokes;
};

// The styles of `digit` (0..9). Their weights add up to 1.
const std::vector<DigitStyle>& styles_of(int digit);

// Styles that MNIST's writers hardly have, and other hands do: 1 with a long flag, 7 with a wave
// and a bar, 0 with a slash, 4 with a loop, 9 that is curled at its end. None of some digits.
const std::vector<DigitStyle>& rare_styles_of(int digit);

}  // namespace weft::data
