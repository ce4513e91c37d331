// SPDX-License-Identifier: MIT
#include "data/ink/frames.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "data/ink/strokes.h"

namespace weft::data {
namespace {

double size_of(const Piece& piece) {
  return static_cast<double>(std::max(piece.box.width, piece.box.height));
}

// How far inside its box a frame may run: it may be turned a little, and has a width.
std::int64_t depth_of(const InkBox& box) {
  return std::max<std::int64_t>(3, std::min(box.width, box.height) / 8);
}

// Does the piece run along all four sides of its box, into the corners?
bool is_box(const Piece& piece, const Plane& ink) {
  constexpr double kCover = 0.93;  // of each side
  constexpr double kFilled = 0.5;  // of the box; what has more is no line
  const InkBox& box = piece.box;
  if (std::min(box.width, box.height) < 12) return false;
  if (piece.mass > kFilled * static_cast<double>(box.width * box.height)) return false;
  const std::int64_t depth = depth_of(box);
  std::vector<std::uint8_t> across[2], down[2];
  for (auto* side : {&across[0], &across[1]}) side->assign(static_cast<std::size_t>(box.width), 0);
  for (auto* side : {&down[0], &down[1]}) side->assign(static_cast<std::size_t>(box.height), 0);
  for (const std::size_t at : piece.pixels) {
    const std::int64_t x = static_cast<std::int64_t>(at) % ink.width - box.left;
    const std::int64_t y = static_cast<std::int64_t>(at) / ink.width - box.top;
    if (x < 0 || y < 0 || x >= box.width || y >= box.height) continue;
    if (y < depth) across[0][static_cast<std::size_t>(x)] = 1;
    if (y >= box.height - depth) across[1][static_cast<std::size_t>(x)] = 1;
    if (x < depth) down[0][static_cast<std::size_t>(y)] = 1;
    if (x >= box.width - depth) down[1][static_cast<std::size_t>(y)] = 1;
  }
  for (const auto* side : {&across[0], &across[1], &down[0], &down[1]}) {
    const auto covered = std::count(side->begin(), side->end(), std::uint8_t{1});
    if (static_cast<double>(covered) < kCover * static_cast<double>(side->size())) return false;
  }
  return true;
}

bool lies_in(const Piece& inner, const Piece& outer) {
  return inner.box.left > outer.box.left && inner.box.right() < outer.box.right() &&
         inner.box.top > outer.box.top && inner.box.bottom() < outer.box.bottom();
}

// Are these places, one for each pixel along a side, on a straight line? Some have none, and are
// negative.
bool are_straight(const std::vector<std::int64_t>& places) {
  constexpr double kEnd = 0.05, kBend = 0.02;  // of the side
  constexpr double kLeastBend = 1.5;           // pixels
  const auto all = static_cast<double>(places.size());
  const auto end = static_cast<std::int64_t>(kEnd * all);
  double n = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  const auto each = [&](const auto& apply) {
    for (std::int64_t i = end; i < std::ssize(places) - end; ++i) {
      const std::int64_t place = places[static_cast<std::size_t>(i)];
      if (place >= 0) apply(static_cast<double>(i), static_cast<double>(place));
    }
  };
  each([&](double x, double y) {
    ++n;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  });
  const double spread = n * sum_xx - sum_x * sum_x;
  if (!(spread > 0)) return false;
  const double slope = (n * sum_xy - sum_x * sum_y) / spread, first = (sum_y - slope * sum_x) / n;
  double most = 0;
  each([&](double x, double y) { most = std::max(most, std::fabs(y - first - slope * x)); });
  return most <= std::max(kLeastBend, kBend * all);
}

// Has the box thin and straight sides, as print has? A zero that was written as a box has not.
bool is_printed(const Piece& frame, const Plane& ink) {
  constexpr std::int64_t kLeastSide = 24;  // pixels; no digit of 28 x 28 is wider
  constexpr double kThin = 0.1;            // of the shorter side
  const InkBox& box = frame.box;
  const std::int64_t shorter = std::min(box.width, box.height);
  const auto outline = static_cast<double>(2 * (box.width + box.height));
  if (shorter < kLeastSide || frame.mass > kThin * static_cast<double>(shorter) * outline) {
    return false;
  }
  std::vector<std::int64_t> sides[4];  // how far inside the outermost ink is
  for (int i = 0; i < 4; ++i) {
    sides[i].assign(static_cast<std::size_t>(i < 2 ? box.width : box.height), -1);
  }
  for (const std::size_t at : frame.pixels) {
    const std::int64_t x = static_cast<std::int64_t>(at) % ink.width - box.left;
    const std::int64_t y = static_cast<std::int64_t>(at) / ink.width - box.top;
    if (x < 0 || y < 0 || x >= box.width || y >= box.height) continue;
    const auto see = [](std::int64_t& outermost, std::int64_t depth) {
      if (outermost < 0 || depth < outermost) outermost = depth;
    };
    see(sides[0][static_cast<std::size_t>(x)], y);
    see(sides[1][static_cast<std::size_t>(x)], box.height - 1 - y);
    see(sides[2][static_cast<std::size_t>(y)], x);
    see(sides[3][static_cast<std::size_t>(y)], box.width - 1 - x);
  }
  return std::all_of(std::begin(sides), std::end(sides), are_straight);
}

// Are both about as wide and as high as each other, as the boxes of a form are?
bool are_alike(const InkBox& a, const InkBox& b) {
  constexpr double kAlike = 0.2;  // of a side
  const auto differ = [](std::int64_t one, std::int64_t other) {
    return static_cast<double>(std::abs(one - other)) >
           kAlike * static_cast<double>(std::max(one, other));
  };
  return !differ(a.width, b.width) && !differ(a.height, b.height);
}

// Takes the piece out with the blurred edge around it.
void erase(Plane& ink, const Piece& piece, float certain) {
  constexpr std::int64_t kEdge = 2;  // pixels
  for (const std::size_t at : piece.pixels) {
    ink.values[at] = 0;
    const std::int64_t x = static_cast<std::int64_t>(at) % ink.width;
    const std::int64_t y = static_cast<std::int64_t>(at) / ink.width;
    for (std::int64_t ny = std::max<std::int64_t>(0, y - kEdge);
         ny <= std::min(ink.height - 1, y + kEdge); ++ny) {
      for (std::int64_t nx = std::max<std::int64_t>(0, x - kEdge);
           nx <= std::min(ink.width - 1, x + kEdge); ++nx) {
        if (ink.at(nx, ny) < certain) ink.at(nx, ny) = 0;
      }
    }
  }
}

// What hangs on the frame inside of it.
std::vector<Piece> inside_of(const Piece& frame, const Plane& ink, float weak, float certain) {
  const InkBox& box = frame.box;
  const std::int64_t depth = depth_of(box);
  Plane rest(ink.width, ink.height);
  for (const std::size_t at : frame.pixels) {
    const std::int64_t x = static_cast<std::int64_t>(at) % ink.width;
    const std::int64_t y = static_cast<std::int64_t>(at) / ink.width;
    const bool is_inside = x >= box.left + depth && x < box.right() - depth &&
                           y >= box.top + depth && y < box.bottom() - depth;
    if (is_inside) rest.values[at] = ink.values[at];
  }
  std::vector<Piece> pieces = connected_pieces(rest, weak, certain);
  std::erase_if(pieces, [&](const Piece& piece) {
    return 4 * piece.box.height < std::min(box.width, box.height);
  });
  return pieces;
}

}  // namespace

void remove_frames(Plane& ink, float full_ink) {
  constexpr double kLeastInside = 0.25;  // of the frame's height has something in it
  constexpr double kSpeck = 0.1;         // the same of an empty frame
  const float weak = 0.15f * full_ink, certain = 0.4f * full_ink;
  const std::vector<Piece> pieces = connected_pieces(ink, weak, certain);
  std::vector<const Piece*> frames;
  for (const Piece& piece : pieces) {
    if (is_box(piece, ink)) frames.push_back(&piece);
  }
  for (const Piece* const box : frames) {
    const Piece& frame = *box;
    const auto holds = [&](double share) {
      const double least = share * static_cast<double>(frame.box.height);
      return std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
        return lies_in(piece, frame) && static_cast<double>(piece.box.height) >= least;
      });
    };
    const std::vector<Piece> inside = inside_of(frame, ink, weak, certain);
    const bool is_of_form = std::any_of(frames.begin(), frames.end(), [&](const Piece* other) {
      return other != box && are_alike(other->box, frame.box);
    });
    const bool is_empty = is_of_form && inside.empty() && !holds(kSpeck) && is_printed(frame, ink);
    if (!is_empty && !holds(kLeastInside)) continue;
    // What goes across the whole frame is a line of a grid, which is no business of this step.
    const auto room = static_cast<double>(frame.box.height - 2 * depth_of(frame.box));
    if (std::any_of(inside.begin(), inside.end(), [&](const Piece& piece) {
          return static_cast<double>(piece.box.height) >= 0.95 * room;
        })) {
      continue;
    }
    std::vector<float> kept;
    for (const Piece& piece : inside) {
      for (const std::size_t at : piece.pixels) kept.push_back(ink.values[at]);
    }
    erase(ink, frame, certain);
    auto value = kept.begin();
    for (const Piece& piece : inside) {
      for (const std::size_t at : piece.pixels) ink.values[at] = *value++;
    }
  }
}

void drop_dotted_lines(std::vector<Piece>& pieces, const Plane& ink, float certain,
                       LeftOut& left_out) {
  constexpr std::size_t kLeastDots = 7, kMostDots = 400;
  constexpr double kSmall = 0.3;       // of the height of the writing
  constexpr double kLeastSpan = 0.25;  // of the picture's width
  const auto width = static_cast<double>(ink.width);
  const double most = kSmall * pen_of(pieces, ink, certain).height;
  std::vector<const Piece*> dots;
  for (const Piece& piece : pieces) {
    if (size_of(piece) <= most) dots.push_back(&piece);
  }
  if (dots.size() < kLeastDots || dots.size() > kMostDots) return;
  const auto x_of = [](const Piece* dot) {
    return static_cast<double>(dot->box.left) + 0.5 * static_cast<double>(dot->box.width);
  };
  const auto y_of = [](const Piece* dot) {
    return static_cast<double>(dot->box.top) + 0.5 * static_cast<double>(dot->box.height);
  };
  std::sort(dots.begin(), dots.end(),
            [&](const Piece* a, const Piece* b) { return x_of(a) < x_of(b); });
  std::vector<const Piece*> best;
  for (std::size_t a = 0; a < dots.size(); ++a) {
    for (std::size_t b = a + kLeastDots - 1; b < dots.size(); ++b) {
      const double run = x_of(dots[b]) - x_of(dots[a]), rise = y_of(dots[b]) - y_of(dots[a]);
      if (run < kLeastSpan * width || std::fabs(rise) > 0.1 * run) continue;
      std::vector<const Piece*> line;
      for (std::size_t i = a; i <= b; ++i) {
        const double y = y_of(dots[a]) + rise * (x_of(dots[i]) - x_of(dots[a])) / run;
        if (std::fabs(y_of(dots[i]) - y) <= 2) line.push_back(dots[i]);
      }
      if (line.size() < kLeastDots || line.size() <= best.size()) continue;
      std::vector<double> gaps;
      for (std::size_t i = 1; i < line.size(); ++i)
        gaps.push_back(x_of(line[i]) - x_of(line[i - 1]));
      std::sort(gaps.begin(), gaps.end());
      // Writing hides some of the dots.
      const double usual = gaps[gaps.size() / 3];
      const auto even = std::count_if(gaps.begin(), gaps.end(), [&](double gap) {
        const double steps = gap / usual;
        return std::fabs(steps - std::round(steps)) < 0.3;
      });
      if (4 * even >= 3 * std::ssize(gaps)) best = std::move(line);
    }
  }
  std::erase_if(pieces, [&](const Piece& piece) {
    const bool is_dot = std::find(best.begin(), best.end(), &piece) != best.end();
    if (is_dot && counts_as_mark(piece, ink)) left_out.add(&LeftOut::small, piece.box);
    return is_dot;
  });
}

}  // namespace weft::data
