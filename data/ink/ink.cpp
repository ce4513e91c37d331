// SPDX-License-Identifier: MIT
#include "data/ink/ink.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "data/ink/frames.h"
#include "data/ink/ground.h"
#include "data/ink/marks.h"
#include "data/ink/rules.h"
#include "data/ink/strokes.h"
#include "engine/error.h"

namespace weft::data {
namespace {

constexpr float kLeastContrast = 10.0f / 255;  // between ground and ink

// The darkness of the ink on a ground of one level.
Darkness drawn_ink(const Plane& picture, float level) {
  Darkness result{Plane(picture.width, picture.height), 0, {}};
  for (std::size_t i = 0; i < picture.values.size(); ++i) {
    result.ink.values[i] = (level - picture.values[i]) / 255;
  }
  return result;
}

// The marks that may be writing. One at the border on a dark ground is the grain of a table.
std::vector<Piece> writing(const Darkness& darkness, float weak, float certain, LeftOut& left_out) {
  left_out = {};
  std::vector<Piece> pieces = connected_pieces(darkness.ink, weak, certain);
  if (darkness.is_crop) {
    for (Piece& piece : pieces) piece.is_surround = false;
  }
  drop_dotted_lines(pieces, darkness.ink, certain, left_out);
  std::erase_if(pieces, [&](const Piece& piece) {
    if (!piece.is_at_border || darkness.is_table.values.empty()) return false;
    const auto on_table =
        std::count_if(piece.pixels.begin(), piece.pixels.end(),
                      [&](std::size_t at) { return darkness.is_table.values[at] > 0; });
    const bool is_table = 2 * on_table > static_cast<std::ptrdiff_t>(piece.pixels.size());
    if (is_table && counts_as_mark(piece, darkness.ink)) {
      left_out.add(&LeftOut::at_border, piece.box);
    }
    return is_table;
  });
  drop_dirt(pieces, darkness.ink, certain, left_out);
  return pieces;
}

// What a tenth of its pixels exceed.
float darkness_in(const Piece& piece, const Plane& ink) {
  std::vector<float> values;
  for (const std::size_t at : piece.pixels) values.push_back(ink.values[at]);
  return percentile(std::move(values), 0.9);
}

// How dark full ink is: as the darkest of the large marks. A soft shadow is the largest of all, and
// much paler than what is written beside it. Negative when there is no ink.
float full_ink(const Darkness& darkness, LeftOut& left_out) {
  constexpr double kLarge = 0.2;  // of the largest mark's pixels
  const Plane& ink = darkness.ink;
  const float least = std::max(0.7f * kLeastContrast, 4 * darkness.noise);
  const std::vector<Piece> all = connected_pieces(ink, least, least);
  const std::vector<Piece> pieces = writing(darkness, least, least, left_out);
  double largest = 0;
  for (const Piece& piece : pieces) largest = std::max(largest, piece.mass);
  float darkest = -1;
  for (const Piece& piece : pieces) {
    if (piece.mass >= kLarge * largest) darkest = std::max(darkest, darkness_in(piece, ink));
  }
  constexpr float kPaler = 3;     // times
  constexpr double kSize = 0.02;  // of the shorter side, of a mark
  constexpr std::size_t kEnough = 3;
  const double size = std::max(8.0, kSize * static_cast<double>(std::min(ink.width, ink.height)));
  std::vector<float> darker;
  for (const Piece& piece : all) {
    const auto side = static_cast<double>(std::max(piece.box.width, piece.box.height));
    if (piece.is_at_border || side < size || piece.mass >= kLarge * largest) continue;
    const float value = darkness_in(piece, ink);
    if (value > kPaler * darkest) darker.push_back(value);
  }
  return darkest > 0 && darker.size() >= kEnough ? percentile(std::move(darker), 0.75) : darkest;
}

// Ink from 0 to 255, without rules, and the marks in it; no marks when nothing stands out.
struct Inked {
  Darkness darkness;
  float certain = 0;
  std::vector<Piece> pieces = {};
};

Inked inked_by(Darkness darkness, bool is_drawing, LeftOut& left_out) {
  remove_rules(darkness.ink);
  const Plane& ink = darkness.ink;
  const float full = full_ink(darkness, left_out);
  if (!(full >= std::max(kLeastContrast, 4 * darkness.noise))) return {std::move(darkness)};
  // In a drawing every trace is ink; a photograph's strokes end in blur and noise.
  const bool is_tiny = std::max(ink.width, ink.height) <= 64;
  const float noise = 255 * darkness.noise / full;
  const float weak = is_drawing ? 8 : std::max(38.0f, 2.5f * noise);
  const float certain = is_drawing ? (is_tiny ? 8.0f : 25.0f) : std::max(76.0f, 4 * noise);
  for (float& value : darkness.ink.values) value = std::clamp(255 * value / full, 0.0f, 255.0f);
  std::vector<Piece> pieces = writing(darkness, weak, certain, left_out);
  return {std::move(darkness), certain, std::move(pieces)};
}

Mark cut_out(const Plane& ink, const Piece& piece) {
  Mark mark{piece.box, piece.row, Plane(piece.box.width, piece.box.height)};
  for (const std::size_t at : piece.pixels) {
    const std::int64_t x = static_cast<std::int64_t>(at) % ink.width - piece.box.left;
    const std::int64_t y = static_cast<std::int64_t>(at) / ink.width - piece.box.top;
    if (x < 0 || y < 0 || x >= piece.box.width || y >= piece.box.height) continue;
    mark.ink.at(x, y) = ink.values[at];
  }
  return mark;
}

}  // namespace

std::string LeftOut::text() const {
  if (count() == 0) return "";
  const auto marks = [](std::size_t number, const char* kind) {
    return str(number, kind, number == 1 ? " mark" : " marks");
  };
  std::string text = small > 0 ? marks(small, " small") : "";
  if (at_border > 0) {
    text += small > 0 ? str(" and ", at_border) : marks(at_border, "");
    text += " along the border";
  }
  return text + (count() == 1 ? " was left out" : " were left out");
}

std::vector<Mark> find_marks(const Plane& picture, bool is_dark_on_light, LeftOut* left_out,
                             double* writing_height) {
  LeftOut ignored;
  LeftOut& dropped = left_out != nullptr ? *left_out : ignored;
  Plane dark = picture;
  if (!is_dark_on_light) {
    for (float& value : dark.values) value = 255 - value;
  }
  const float level = flat_level(dark);
  const bool is_drawing = level >= 0;
  const std::optional<float> crop = ground_of_crop(dark);
  const std::int64_t widest = widest_stroke(dark);
  const auto first_look = [&] {
    if (!crop) {
      return is_drawing ? drawn_ink(dark, level) : darkness_of(dark, is_dark_on_light, widest);
    }
    Darkness flat = drawn_ink(dark, is_drawing ? level : *crop);
    flat.is_crop = true;
    return flat;
  };
  Inked inked = inked_by(first_look(), is_drawing, dropped);
  Pen pen = pen_of(inked.pieces, inked.darkness.ink, inked.certain);
  // What is much wider than the strokes is shadow, however dark. A ground that follows it shows the
  // writing in it.
  constexpr double kWindow = 6;  // widths of a stroke
  const auto narrow = static_cast<std::int64_t>(kWindow * pen.width) + 4;
  if (!is_drawing && !crop && pen.width > 0 && 2 * narrow < widest) {
    LeftOut dropped_now;
    Inked again = inked_by(darkness_of(dark, is_dark_on_light, narrow), false, dropped_now);
    const Pen pen_now = pen_of(again.pieces, again.darkness.ink, again.certain);
    constexpr double kWhole = 0.7;  // lower marks are pieces of what the first ground has shown
    if (pen_now.height >= kWhole * pen.height) {
      inked = std::move(again);
      dropped = dropped_now;
      pen = pen_now;
    }
  }
  if (writing_height != nullptr) *writing_height = pen.height;
  const Plane& ink = inked.darkness.ink;
  std::vector<Piece> pieces = join_parts(std::move(inked.pieces), ink, dropped);
  sort_for_reading(pieces);
  std::vector<Mark> marks;
  for (const Piece& piece : pieces) marks.push_back(cut_out(ink, piece));
  return marks;
}

}  // namespace weft::data
