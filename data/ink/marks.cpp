// SPDX-License-Identifier: MIT
#include "data/ink/marks.h"

#include <algorithm>
#include <cmath>

#include "data/ink/strokes.h"

namespace weft::data {
namespace {

// Grows from one pixel over all that are connected with it.
Piece grow(const Plane& ink, float weak, float certain, std::size_t start,
           std::vector<bool>& is_seen) {
  Piece piece;
  std::int64_t left = ink.width, right = -1, top = ink.height, bottom = -1;
  std::int64_t at_border[4] = {};  // certain pixels at each side
  bool is_in_corner = false;
  piece.pixels.push_back(start);
  is_seen[start] = true;
  for (std::size_t i = 0; i < piece.pixels.size(); ++i) {
    const auto at = static_cast<std::int64_t>(piece.pixels[i]);
    const std::int64_t x = at % ink.width, y = at / ink.width;
    if (ink.at(x, y) > certain) {
      ++piece.mass;
      left = std::min(left, x);
      right = std::max(right, x);
      top = std::min(top, y);
      bottom = std::max(bottom, y);
      const bool edges[4] = {x == 0, x == ink.width - 1, y == 0, y == ink.height - 1};
      for (int e = 0; e < 4; ++e) at_border[e] += edges[e] ? 1 : 0;
      is_in_corner = is_in_corner || ((edges[0] || edges[1]) && (edges[2] || edges[3]));
    }
    for (std::int64_t ny = std::max<std::int64_t>(0, y - 1); ny <= y + 1 && ny < ink.height; ++ny) {
      for (std::int64_t nx = std::max<std::int64_t>(0, x - 1); nx <= x + 1 && nx < ink.width;
           ++nx) {
        const auto next = static_cast<std::size_t>(ny * ink.width + nx);
        if (is_seen[next] || ink.values[next] <= weak) continue;
        is_seen[next] = true;
        piece.pixels.push_back(next);
      }
    }
  }
  piece.box = {left, top, right - left + 1, bottom - top + 1};
  constexpr double kMostOfASide = 0.6;
  const auto most = [&](std::int64_t count, std::int64_t side) {
    return static_cast<double>(count) > kMostOfASide * static_cast<double>(side);
  };
  const auto touches = [&](int side) { return at_border[side] > 0; };
  // The edge of the sheet is long, narrow, and mostly at the border itself.
  const auto is_edge = [&](int side, std::int64_t along, std::int64_t across) {
    return 2 * at_border[side] > along && along > 3 * across;
  };
  const InkBox& box = piece.box;
  const bool is_sheet_edge = is_edge(0, box.height, box.width) ||
                             is_edge(1, box.height, box.width) ||
                             is_edge(2, box.width, box.height) || is_edge(3, box.width, box.height);
  piece.is_at_border = touches(0) || touches(1) || touches(2) || touches(3);
  piece.is_surround = is_in_corner || is_sheet_edge || (touches(0) && touches(1)) ||
                      (touches(2) && touches(3)) ||
                      most(std::max(at_border[0], at_border[1]), ink.height) ||
                      most(std::max(at_border[2], at_border[3]), ink.width);
  return piece;
}

double gap(std::int64_t begin_a, std::int64_t end_a, std::int64_t begin_b, std::int64_t end_b) {
  return static_cast<double>(std::max(begin_a, begin_b) - std::min(end_a, end_b));
}
double gap_across(const InkBox& a, const InkBox& b) {
  return gap(a.left, a.right(), b.left, b.right());
}
double gap_down(const InkBox& a, const InkBox& b) {
  return gap(a.top, a.bottom(), b.top, b.bottom());
}

InkBox united(const InkBox& a, const InkBox& b) {
  const std::int64_t left = std::min(a.left, b.left), top = std::min(a.top, b.top);
  return {left, top, std::max(a.right(), b.right()) - left, std::max(a.bottom(), b.bottom()) - top};
}

// As high to its width as most digits are, and not as thin as a piece of a stroke.
bool is_upright(const InkBox& box) {
  return 10 * box.height >= 12 * box.width && 10 * box.width >= 3 * box.height;
}

bool is_flat(const InkBox& box) {
  return 10 * box.height < 9 * box.width;
}

// Are these parts of one character? A part is short, as the bar of a 5, or lies above or below the
// other one, as the halves of a broken 8, which are hardly higher than wide. Together they are at
// most `most` high, and the characters about `height`.
bool is_one_character(const Piece& a, const Piece& b, double height, double most) {
  if (static_cast<double>(united(a.box, b.box).height) > most) return false;
  const double across = gap_across(a.box, b.box), down = gap_down(a.box, b.box);
  const auto shorter = static_cast<double>(std::min(a.box.height, b.box.height));
  const auto narrower = static_cast<double>(std::min(a.box.width, b.box.width));
  const bool is_above = across < -0.5 * narrower;
  if (is_above && is_upright(a.box) && is_upright(b.box)) return false;
  // Two that are about as high as wide, or higher, and have a gap between them, are no halves.
  const InkBox both = united(a.box, b.box);
  const bool are_high = 3 * std::min(a.box.height, b.box.height) >= both.height &&
                        down > 0.05 * static_cast<double>(both.height);
  if (is_above && are_high && !is_flat(a.box) && !is_flat(b.box) &&
      10 * both.height >= 21 * both.width) {
    return false;
  }
  const bool is_stacked = is_above && down < 0.1 * height;
  const bool is_diagonal = -down < 0.5 * shorter && down < 0.15 * height && across < 0.1 * height;
  const bool is_short = shorter < 0.6 * height && down < 0.25 * height && across < 0.08 * height;
  return is_stacked || is_diagonal || is_short;
}

double typical_height(const std::vector<Piece>& pieces) {
  std::vector<std::int64_t> heights;
  for (const Piece& piece : pieces) heights.push_back(piece.box.height);
  std::sort(heights.begin(), heights.end());
  return static_cast<double>(heights[heights.size() * 3 / 4]);
}

// Erases the pieces of which `is` is true, and counts those that are more than specks.
template <class Is>
void drop(std::vector<Piece>& pieces, const Plane& ink, LeftOut& left_out,
          std::size_t LeftOut::*count, Is is) {
  std::erase_if(pieces, [&](const Piece& piece) {
    if (!is(piece)) return false;
    if (counts_as_mark(piece, ink)) left_out.add(count, piece.box);
    return true;
  });
}

void append(Piece& to, const Piece& from) {
  to.box = united(to.box, from.box);
  to.mass += from.mass;
  to.is_at_border = to.is_at_border || from.is_at_border;
  to.pixels.insert(to.pixels.end(), from.pixels.begin(), from.pixels.end());
}

}  // namespace

std::vector<Piece> connected_pieces(const Plane& ink, float weak, float certain) {
  std::vector<Piece> pieces;
  std::vector<bool> is_seen(ink.values.size());
  for (std::size_t start = 0; start < is_seen.size(); ++start) {
    if (is_seen[start] || ink.values[start] <= certain) continue;
    pieces.push_back(grow(ink, weak, certain, start, is_seen));
  }
  return pieces;
}

bool counts_as_mark(const Piece& piece, const Plane& ink) {
  const std::int64_t least = std::max<std::int64_t>(2, std::min(ink.width, ink.height) / 200);
  return std::max(piece.box.width, piece.box.height) >= least;
}

void drop_dirt(std::vector<Piece>& pieces, const Plane& ink, float certain, LeftOut& left_out) {
  // A mark with a smaller share of the usual mark's pixels is dirt. Inside the largest mark, as
  // the eyes of a face are, the share may be smaller. A large mark that looks not drawn, such as a
  // shadow, tells nothing of the writing.
  constexpr double kLeastShare = 0.03, kLeastShareInside = 0.01;
  constexpr double kSpeck = 0.012;  // of the shorter side; smaller things are nobody's writing
  constexpr double kLeastSize = 5;  // pixels
  // A digit in the corner of the picture is the only writing in it. Beside a table there is more.
  constexpr double kWriting = 0.08;  // of the shorter side
  const double least_size = kWriting * static_cast<double>(std::min(ink.width, ink.height));
  const bool has_writing = std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    const auto size = static_cast<double>(std::max(piece.box.width, piece.box.height));
    return !piece.is_surround && size >= least_size;
  });
  // In a row that was cut out closely, what is as high as the picture is a digit like the others.
  constexpr double kWholeHeight = 0.75;
  const double whole = kWholeHeight * static_cast<double>(ink.height);
  const bool is_row =
      ink.width > ink.height && std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
        return !piece.is_surround && static_cast<double>(piece.box.height) >= whole;
      });
  if (has_writing) {
    drop(pieces, ink, left_out, &LeftOut::at_border, [&](const Piece& piece) {
      const bool is_digit = is_row && piece.box.width <= piece.box.height && piece.box.left > 0 &&
                            piece.box.right() < ink.width;
      return piece.is_surround && !is_digit;
    });
  }
  if (pieces.empty()) return;
  const Piece largest = *std::max_element(
      pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.mass < b.mass; });
  const auto side = static_cast<double>(std::min(ink.width, ink.height));
  const double speck = std::max(std::min(kLeastSize, 0.03 * side), kSpeck * side);
  const Pen pen = pen_of(pieces, ink, certain);
  const double usual = pen.mass > 0 ? pen.mass : largest.mass;
  drop(pieces, ink, left_out, &LeftOut::small, [&](const Piece& piece) {
    const bool is_inside = united(largest.box, piece.box) == largest.box;
    return piece.mass < (is_inside ? kLeastShareInside : kLeastShare) * usual ||
           static_cast<double>(std::max(piece.box.width, piece.box.height)) < speck;
  });
}

std::vector<Piece> join_parts(std::vector<Piece> pieces, const Plane& ink, LeftOut& left_out) {
  constexpr double kLeastRing = 0.5;
  if (pieces.empty()) return pieces;
  // On a page the others tell how high a character is. Two or three may be parts of one, also
  // where splinters lie beside them.
  constexpr double kHigh = 0.5;
  const double height = typical_height(pieces);
  const auto high = std::count_if(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    return static_cast<double>(piece.box.height) >= kHigh * height;
  });
  const double most = (high > 3 ? 1.35 : 2.2) * height;
  for (bool has_joined = true; has_joined;) {
    has_joined = false;
    for (std::size_t a = 0; a < pieces.size(); ++a) {
      for (std::size_t b = pieces.size(); b-- > a + 1;) {
        if (!is_one_character(pieces[a], pieces[b], height, most)) continue;
        append(pieces[a], pieces[b]);
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(b));
        has_joined = true;
      }
    }
  }
  // What the edge of the picture cuts off is no character, nor is what lies along it.
  constexpr std::size_t kPage = 6;  // marks tell how high a whole one is
  constexpr double kCut = 0.8;
  if (pieces.size() >= kPage) {
    const double whole = kCut * typical_height(pieces);
    constexpr double kStrip = 0.0125;  // of the shorter side
    const auto strip = std::max<std::int64_t>(
        2, std::llround(kStrip * static_cast<double>(std::min(ink.width, ink.height))));
    drop(pieces, ink, left_out, &LeftOut::at_border, [&](const Piece& piece) {
      const InkBox& box = piece.box;
      return (piece.is_at_border && static_cast<double>(box.height) < whole) ||
             box.right() <= strip || box.bottom() <= strip || box.left >= ink.width - strip ||
             box.top >= ink.height - strip;
    });
  }
  const double least = 0.35 * typical_height(pieces);
  drop(pieces, ink, left_out, &LeftOut::small, [&](const Piece& piece) {
    if (static_cast<double>(piece.box.height) >= kLeastRing * least && is_ring(piece, ink)) {
      return false;  // a small zero
    }
    return static_cast<double>(std::max(piece.box.height, piece.box.width)) < least ||
           static_cast<double>(piece.box.height) < 0.5 * least;
  });
  return pieces;
}

namespace {

template <class Character>
void sort_in_rows(std::vector<Character>& characters) {
  std::sort(characters.begin(), characters.end(),
            [](const Character& a, const Character& b) { return a.box.left < b.box.left; });
  // Each character continues the row whose last character is most beside it.
  std::vector<std::vector<Character>> rows;
  for (Character& character : characters) {
    std::vector<Character>* best = nullptr;
    double most = 0.3;  // of the shorter one's height
    for (std::vector<Character>& row : rows) {
      const InkBox& last = row.back().box;
      const double shared = -gap_down(last, character.box) /
                            static_cast<double>(std::min(last.height, character.box.height));
      if (shared > most) {
        most = shared;
        best = &row;
      }
    }
    if (best == nullptr) best = &rows.emplace_back();
    best->push_back(std::move(character));
  }
  const auto middle = [](const std::vector<Character>& row) {
    double sum = 0;
    for (const Character& character : row)
      sum += static_cast<double>(2 * character.box.top + character.box.height);
    return sum / static_cast<double>(row.size());
  };
  std::sort(rows.begin(), rows.end(),
            [&](const auto& a, const auto& b) { return middle(a) < middle(b); });
  characters.clear();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (Character& character : rows[r]) {
      character.row = static_cast<std::int64_t>(r);
      characters.push_back(std::move(character));
    }
  }
}

}  // namespace

void sort_for_reading(std::vector<Piece>& pieces) {
  sort_in_rows(pieces);
}

void sort_for_reading(std::vector<Mark>& marks) {
  sort_in_rows(marks);
}

}  // namespace weft::data
