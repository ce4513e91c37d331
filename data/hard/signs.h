// SPDX-License-Identifier: MIT
// What people draw that is no digit, as the strokes of a pen.
#pragma once

#include <span>
#include <vector>

#include "data/hard/draw.h"
#include "data/hard/stroke_font.h"

namespace weft::data {

// A kind of drawing without a digit. Letters and signs that have the shape of a digit are left out,
// because nobody could tell them apart: O o Q D (0), I l i ! | (1), Z z (2), S s (5), b G (6),
// T J (7), B (8), g q P (9), c and C (a part of many).
struct SignKind {
  const char* name;
  const char* letters;                 // one of them is drawn, unless there are none
  std::vector<Stroke> (*draw)(Draw&);  // of any extent
};

std::span<const SignKind> sign_kinds();

// A drawing of this kind, of any extent. What is drawn follows from the random numbers.
std::vector<Stroke> draw_sign(const SignKind& kind, Draw& draw);

}  // namespace weft::data
