// SPDX-License-Identifier: MIT
// Pictures that are hard to read, or show no digit at all, in MNIST's format: what a classifier has
// to be unsure of.
#pragma once

#include <cstdint>

#include "data/hard/draw.h"

namespace weft::data {

// A digit (28, 28) by another pen and with one kind of damage: turned and slanted, a part lost,
// pale, broken, blurred, with specks, or with a stroke across. A `strength` of 0 leaves it legible,
// 1 often does not.
void draw_damaged(const std::uint8_t* digit, float strength, Draw& draw, std::uint8_t* result);

// A picture (28, 28) without a digit: a sign or letter (signs.h), or two digits that touch. The
// kinds follow each other by the index.
void draw_stranger(std::uint64_t index, const std::uint8_t* digit, const std::uint8_t* other,
                   Draw& draw, std::uint8_t* result);

}  // namespace weft::data
