// SPDX-License-Identifier: MIT
// The connected marks of ink: which belong to the writing, which to each other, and their order.
// Internal to ink.cpp.
#pragma once

#include <vector>

#include "data/ink/ink.h"

namespace weft::data {

// A connected piece of ink, or several that make one character.
struct Piece {
  InkBox box;                       // of the ink that is certain
  double mass = 0;                  // its pixels that are certain
  std::int64_t row = 0;             // of the writing, set by sort_for_reading()
  bool is_at_border = false;        // touches it
  bool is_surround = false;         // lies along the border, as the table beside a sheet does
  std::vector<std::size_t> pixels;  // indices into the plane
};

// The pieces (8 neighbours) of pixels above `weak` that hold a pixel above `certain`.
std::vector<Piece> connected_pieces(const Plane& ink, float weak, float certain);

// More than a speck, in a plane of this size.
bool counts_as_mark(const Piece& piece, const Plane& ink);

// Drops what is no writing, and counts it: specks, and marks along the border when others are left.
// `certain` is that of connected_pieces().
void drop_dirt(std::vector<Piece>& pieces, const Plane& ink, float certain, LeftOut& left_out);

// Joins the parts of each character, and drops what is too small to be one, which it counts.
std::vector<Piece> join_parts(std::vector<Piece> pieces, const Plane& ink, LeftOut& left_out);

// Rows from the top, each from the left.
void sort_for_reading(std::vector<Piece>& pieces);
void sort_for_reading(std::vector<Mark>& marks);

}  // namespace weft::data
