// SPDX-License-Identifier: MIT
#include "data/ink/grid.h"

#include <algorithm>
#include <cmath>

#include "data/ink/ground.h"
#include "data/ink/marks.h"
#include "data/ink/windows.h"
#include "engine/error.h"

namespace weft::data {
namespace {

// Does the piece come to each side of its box along most of it? The inside of a 0 does not.
bool is_rectangle(const Piece& piece, const Plane& ground) {
  constexpr double kCover = 0.75;  // of a side: strokes cross the line
  const InkBox& box = piece.box;
  const std::int64_t depth = std::max<std::int64_t>(2, std::min(box.width, box.height) / 10);
  std::vector<bool> sides[4];
  for (int i = 0; i < 4; ++i) {
    sides[i].resize(static_cast<std::size_t>(i < 2 ? box.width : box.height));
  }
  for (const std::size_t at : piece.pixels) {
    const std::int64_t x = static_cast<std::int64_t>(at) % ground.width - box.left;
    const std::int64_t y = static_cast<std::int64_t>(at) / ground.width - box.top;
    const auto across = static_cast<std::size_t>(x), down = static_cast<std::size_t>(y);
    if (y < depth) sides[0][across] = true;
    if (y >= box.height - depth) sides[1][across] = true;
    if (x < depth) sides[2][down] = true;
    if (x >= box.width - depth) sides[3][down] = true;
  }
  return std::all_of(std::begin(sides), std::end(sides), [](const std::vector<bool>& side) {
    return static_cast<double>(std::count(side.begin(), side.end(), true)) >=
           kCover * static_cast<double>(side.size());
  });
}

double median_side(const std::vector<InkBox>& boxes, std::int64_t InkBox::*side) {
  std::vector<float> values;
  for (const InkBox& box : boxes) values.push_back(static_cast<float>(box.*side));
  return percentile(std::move(values), 0.5);
}

// Where the centre of a box lies, along an axis and across it.
struct Place {
  double along, across;
};

// The boundaries between `count` groups of values: in the middle of the largest gaps.
struct Groups {
  std::vector<double> boundaries = {};
  double least_gap = 0;    // between two groups
  double most_within = 0;  // the largest gap in a group
  std::int64_t found = 1;  // groups that are `apart` from each other
  double contrast() const { return least_gap - most_within; }
};

Groups grouped(std::vector<double> values, std::int64_t count, double apart) {
  std::sort(values.begin(), values.end());
  std::vector<std::pair<double, double>> gaps;  // with their middles
  for (std::size_t i = 1; i < values.size(); ++i) {
    gaps.emplace_back(values[i] - values[i - 1], 0.5 * (values[i] + values[i - 1]));
  }
  std::sort(gaps.rbegin(), gaps.rend());
  const auto cuts = std::min(gaps.size(), static_cast<std::size_t>(count - 1));
  Groups result;
  for (const auto& [gap, middle] : gaps) result.found += gap > apart ? 1 : 0;
  for (std::size_t i = 0; i < cuts; ++i) result.boundaries.push_back(gaps[i].second);
  std::sort(result.boundaries.begin(), result.boundaries.end());
  result.least_gap = cuts > 0 ? gaps[cuts - 1].first : 0;
  result.most_within = cuts < gaps.size() ? gaps[cuts].first : 0;
  const double outside = std::max(apart, 0.5 * result.least_gap);
  result.boundaries.insert(result.boundaries.begin(), values.front() - outside);
  result.boundaries.push_back(values.back() + outside);
  return result;
}

// Groups along the slope that parts them best.
GridAxis axis_of(const std::vector<Place>& places, std::int64_t count, double size) {
  constexpr double kSteepest = 0.12, kStep = 0.004;
  constexpr double kApart = 0.5;  // of a box
  constexpr int kSteps = static_cast<int>(kSteepest / kStep);
  GridAxis best;
  Groups groups;
  for (int step = -kSteps; step <= kSteps; ++step) {
    const double slope = kStep * step;
    std::vector<double> values;
    for (const Place& place : places) values.push_back(place.along - slope * place.across);
    Groups now = grouped(std::move(values), count, kApart * size);
    const bool is_better =
        now.contrast() > groups.contrast() + 1e-9 ||
        (now.contrast() > groups.contrast() - 1e-9 && std::fabs(slope) < std::fabs(best.slope));
    if (!best.boundaries.empty() && !is_better) continue;
    best = {slope, now.boundaries, false, now.found};
    groups = std::move(now);
  }
  constexpr double kClear = 1.5;  // times the largest gap in a group
  best.is_there = count == 1 ? groups.most_within <= size
                             : std::ssize(best.boundaries) == count + 1 &&
                                   groups.least_gap > kApart * size &&
                                   groups.least_gap > kClear * groups.most_within;
  return best;
}

Place centre_of(const InkBox& box) {
  return {static_cast<double>(box.top) + 0.5 * static_cast<double>(box.height),
          static_cast<double>(box.left) + 0.5 * static_cast<double>(box.width)};
}

}  // namespace

std::vector<InkBox> printed_boxes(const Plane& picture, bool is_dark_on_light) {
  constexpr std::int64_t kThin = 9, kLeastSide = 10;  // pixels
  constexpr float kLeastContrast = 8;                 // grey levels
  constexpr double kAlike = 0.3;                      // a side may differ from the usual one
  constexpr std::size_t kLeast = 2;
  Plane dark = picture;
  if (!is_dark_on_light) {
    for (float& value : dark.values) value = 255 - value;
  }
  const Plane lines = difference(closing(dark, kThin, kThin), dark);
  const GroundLevel level = ground_level(lines);
  const float least = std::max(kLeastContrast, level.level + 5 * level.noise);
  Plane ground(picture.width, picture.height);
  for (std::size_t i = 0; i < ground.values.size(); ++i) {
    ground.values[i] = lines.values[i] < least ? 1.0f : 0.0f;
  }
  ground = window_min(ground, 3, 3);  // lines have gaps
  std::vector<InkBox> boxes;
  for (const Piece& piece : connected_pieces(ground, 0.5f, 0.5f)) {
    if (std::min(piece.box.width, piece.box.height) < kLeastSide) continue;
    if (is_rectangle(piece, ground)) boxes.push_back(piece.box);
  }
  if (boxes.size() < kLeast) return {};
  const double width = median_side(boxes, &InkBox::width);
  const double height = median_side(boxes, &InkBox::height);
  std::erase_if(boxes, [&](const InkBox& box) {
    return std::fabs(static_cast<double>(box.width) - width) > kAlike * width ||
           std::fabs(static_cast<double>(box.height) - height) > kAlike * height;
  });
  return boxes.size() < kLeast ? std::vector<InkBox>() : boxes;
}

Grid::Grid(const std::vector<InkBox>& boxes, std::int64_t rows, std::int64_t columns,
           const std::string& name, const std::string& what) {
  std::vector<Place> down, across;
  for (const InkBox& box : boxes) {
    const Place centre = centre_of(box);
    down.push_back(centre);
    across.push_back({centre.across, centre.along});
  }
  if (!boxes.empty()) {
    const double height = median_side(boxes, &InkBox::height);
    rows_ = axis_of(down, rows, height);
    columns_ = axis_of(across, columns, std::max(height, median_side(boxes, &InkBox::width)));
  }
  if (rows_.is_there && columns_.is_there) return;
  std::string found = "";
  if (rows_.found != rows || columns_.found != columns) {
    found = str(": there seem to be ", rows_.found, " and ", columns_.found);
  }
  throw Error(ErrorKind::data, str(name, ": the ", boxes.size(), " ", what, " do not lie in ", rows,
                                   rows == 1 ? " row" : " rows", " and ", columns,
                                   columns == 1 ? " column" : " columns", found));
}

std::optional<GridCell> Grid::cell_of(const InkBox& box) const {
  const Place centre = centre_of(box);
  const auto index = [](const GridAxis& axis, double along, double other) -> std::int64_t {
    const double value = along - axis.slope * other;
    const auto above = std::upper_bound(axis.boundaries.begin(), axis.boundaries.end(), value);
    const auto place = above - axis.boundaries.begin();
    return place == 0 || above == axis.boundaries.end() ? -1 : place - 1;
  };
  const GridCell cell{index(rows_, centre.along, centre.across),
                      index(columns_, centre.across, centre.along)};
  if (cell.row < 0 || cell.column < 0) return std::nullopt;
  return cell;
}

}  // namespace weft::data
