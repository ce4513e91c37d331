// SPDX-License-Identifier: MIT
// Finding the ink in a picture: polarity, ground, printed rules, and which marks belong together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/picture/plane.h"

namespace weft::data {

// Whether a picture shows dark ink on a lighter ground, or light ink on a darker one.
struct Polarity {
  bool is_dark_on_light = true;
  // Strokes and what is around them do not tell, so that the answer is what is common.
  bool is_open = false;
};
Polarity polarity_of(const Plane& picture);

// The median of the outermost pixels.
float border_level(const Plane& picture);

struct InkBox {  // in pixels
  std::int64_t left = 0, top = 0, width = 0, height = 0;
  std::int64_t right() const { return left + width; }
  std::int64_t bottom() const { return top + height; }
  bool operator==(const InkBox&) const = default;
};

// One written character.
struct Mark {
  InkBox box;
  std::int64_t row = 0;  // of the writing, from 0
  Plane ink;             // what lies in the box: 0 ground, about 255 in the middle of a stroke
};

// Marks that were taken for no writing. Specks of a few pixels are not counted.
struct LeftOut {
  std::size_t small = 0;           // much smaller than the largest mark, or than the others
  std::size_t at_border = 0;       // along the border, as a table beside the sheet lies
  std::vector<InkBox> boxes = {};  // of those that were counted
  std::size_t count() const { return small + at_border; }
  void add(std::size_t LeftOut::*kind, const InkBox& box) {
    ++(this->*kind);
    boxes.push_back(box);
  }
  // "23 small marks and 1 along the border were left out"; "" for none.
  std::string text() const;
};

// The characters of a picture with values 0..255, in reading order. Shadows, the table beside the
// sheet, printed rules, noise and specks are left out, and the parts of one character are joined.
// Empty when nothing stands out from the ground. `writing_height` is that of the marks that look
// drawn with a pen, half of the ink being in lower ones; 0 when there are none.
std::vector<Mark> find_marks(const Plane& picture, bool is_dark_on_light,
                             LeftOut* left_out = nullptr, double* writing_height = nullptr);

}  // namespace weft::data
