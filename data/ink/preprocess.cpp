// SPDX-License-Identifier: MIT
// Preprocessing of pictures for prediction.
#include "data/ink/preprocess.h"

#include <algorithm>
#include <cmath>

#include "data/ink/cuts.h"
#include "data/ink/ink.h"
#include "data/ink/margin.h"
#include "data/ink/strokes.h"
#include "data/ink/windows.h"
#include "engine/error.h"
#include "engine/names.h"

namespace weft::data {
namespace {

constexpr std::int64_t kWorkingSide = 800;  // larger photos are shrunk to this before the search
// Lower writing is searched for in a larger picture, where it is as high as kGoodHeight.
constexpr double kLowWriting = 24, kGoodHeight = 32;
constexpr std::int64_t kLargestSide = 2400;

Plane to_plane(const GreyImage& image, std::int64_t longest_side = kWorkingSide) {
  const std::int64_t longest = std::max({image.width, image.height, longest_side});
  const auto shrunk = [&](std::int64_t side) {
    return std::max<std::int64_t>(1, side * longest_side / longest);
  };
  return resample(image, shrunk(image.width), shrunk(image.height));
}

void invert_values(Plane& plane) {
  for (float& value : plane.values) value = 255 - value;
}

std::vector<std::uint8_t> to_bytes(const Plane& plane) {
  std::vector<std::uint8_t> bytes(plane.values.size());
  std::transform(plane.values.begin(), plane.values.end(), bytes.begin(), [](float value) {
    return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f) + 0.5f);
  });
  return bytes;
}

// Scales so that the picture fills the box in one direction, and keeps its proportions.
Plane scale_into(const Plane& plane, PictureSize box) {
  const bool is_wide = plane.width * box.height >= plane.height * box.width;
  const std::int64_t now = is_wide ? plane.width : plane.height;
  const std::int64_t wanted = is_wide ? box.width : box.height;
  const auto scaled = [&](std::int64_t side) {
    return std::max<std::int64_t>(1, (side * wanted + now / 2) / now);
  };
  return resample(plane, scaled(plane.width), scaled(plane.height));
}

// Puts `source` on a ground of `level`, its first pixel at (left, top).
Plane put_on_ground(const Plane& source, std::int64_t left, std::int64_t top, float level,
                    PictureSize size) {
  Plane result(size.width, size.height, level);
  for (std::int64_t y = 0; y < source.height; ++y) {
    for (std::int64_t x = 0; x < source.width; ++x) result.at(left + x, top + y) = source.at(x, y);
  }
  return result;
}

// MNIST's box is 20 of 28 pixels.
PictureSize box_in(PictureSize size) {
  const auto part = [](std::int64_t side) {
    return std::max<std::int64_t>(1, (20 * side + 14) / 28);
  };
  return {part(size.height), part(size.width)};
}

Plane place_like_mnist(Plane digit, PictureSize size) {
  // Hair lines fade when they shrink; bring the strokes back to full ink.
  const float top = *std::max_element(digit.values.begin(), digit.values.end());
  if (top < 250) {
    for (float& value : digit.values) value *= 255 / top;
  }
  double mass = 0, sum_x = 0, sum_y = 0;
  for (std::int64_t y = 0; y < digit.height; ++y) {
    for (std::int64_t x = 0; x < digit.width; ++x) {
      const double ink = digit.at(x, y);
      mass += ink;
      sum_x += ink * static_cast<double>(x);
      sum_y += ink * static_cast<double>(y);
    }
  }
  // Whole pixels, as MNIST: the centre of mass comes within half a pixel of the middle.
  const auto offset = [&](double sum, std::int64_t side, std::int64_t whole) {
    const double centred = std::floor(static_cast<double>(whole) / 2 - sum / mass + 0.5);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(centred), 0, whole - side);
  };
  return put_on_ground(digit, offset(sum_x, digit.width, size.width),
                       offset(sum_y, digit.height, size.height), 0, size);
}

void check_size(const GreyImage& image, const std::string& name) {
  if (image.width >= 1 && image.height >= 1 &&
      static_cast<std::int64_t>(image.pixels.size()) == image.width * image.height) {
    return;
  }
  throw Error(ErrorKind::usage, str(name, ": ", image.pixels.size(), " pixels for ", image.width,
                                    " x ", image.height));
}

bool must_invert(const Plane& plane, Invert invert) {
  return invert == Invert::automatic ? is_dark_on_light(plane) : invert == Invert::yes;
}

// From pixels of the plane to those of the picture, of which it shows the part `from`.
InkBox in_picture(const InkBox& box, const Plane& plane, const InkBox& from) {
  const std::int64_t left = box.left * from.width / plane.width;
  const std::int64_t top = box.top * from.height / plane.height;
  return {from.left + left, from.top + top, box.right() * from.width / plane.width - left,
          box.bottom() * from.height / plane.height - top};
}

// What was found in a picture.
struct Finding {
  InkBox from;  // the part of the picture that was searched: all but a margin around a photograph
  Plane plane;  // that part, shrunk
  bool is_inverted = false;
  std::vector<Mark> marks = {};  // at least one
  LeftOut left_out = {};
};

// What is there, when nothing of it is a character.
Error nothing_to_read(const Finding& found, const std::string& name) {
  constexpr float kLeastContrast = 10;  // grey levels
  const auto& values = found.plane.values;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (!(*high - *low >= kLeastContrast)) {
    return {ErrorKind::data, str(name, ": no ink/contrast to find a digit in")};
  }
  std::string what = found.left_out.text();
  if (what.empty()) {
    what = str("nothing ", found.is_inverted ? "darker" : "lighter",
               " than the ground is shaped like a stroke");
  }
  return {ErrorKind::data,
          str(name, ": the picture has ink/contrast, but no mark of a digit's size: ", what)};
}

Finding found_in(const GreyImage& image, Plane plane, const InkBox& from, Invert invert) {
  Finding found{from, std::move(plane), false, {}};
  found.is_inverted = must_invert(found.plane, invert);
  double height = 0;
  found.marks = find_marks(found.plane, found.is_inverted, &found.left_out, &height);
  const std::int64_t longest = std::max(image.width, image.height);
  if (longest <= kWorkingSide || height >= kLowWriting) return found;
  const double wanted = kWorkingSide * kGoodHeight / std::max(height, 1.0);
  const auto side = static_cast<std::int64_t>(wanted);
  Finding closer{from, to_plane(image, std::min({longest, kLargestSide, side}))};
  closer.is_inverted = found.is_inverted;
  closer.marks = find_marks(closer.plane, closer.is_inverted, &closer.left_out);
  return closer.marks.empty() ? found : closer;
}

GreyImage part_of(const GreyImage& image, const InkBox& box) {
  GreyImage part{box.width, box.height, {}};
  part.pixels.reserve(static_cast<std::size_t>(box.width * box.height));
  for (std::int64_t y = box.top; y < box.bottom(); ++y) {
    const auto row = image.pixels.begin() + y * image.width + box.left;
    part.pixels.insert(part.pixels.end(), row, row + box.width);
  }
  return part;
}

Finding find_in(const GreyImage& image, Invert invert, const std::string& name) {
  check_size(image, name);
  const InkBox whole{0, 0, image.width, image.height};
  Plane plane = to_plane(image);
  if (const auto inner = photograph_in_margin(plane)) {
    const InkBox from = in_picture(*inner, plane, whole);
    const GreyImage part = part_of(image, from);
    Finding found = found_in(part, to_plane(part), from, invert);
    if (!found.marks.empty()) return found;
  }
  Finding found = found_in(image, std::move(plane), whole, invert);
  if (found.marks.empty()) throw nothing_to_read(found, name);
  return found;
}

// The mark with wider strokes, where they would be hairlines in a box of this size and fade between
// its pixels. Strokes as wide as MNIST's would make letters, too, look familiar to a network.
Plane without_hairlines(const Plane& ink, PictureSize box) {
  constexpr double kHairline = 0.9, kStroke = 1.4;  // pixels of the box
  const double scale = std::min(static_cast<double>(box.width) / static_cast<double>(ink.width),
                                static_cast<double>(box.height) / static_cast<double>(ink.height));
  const double width = scale * stroke_width(ink);
  if (width >= kHairline || scale >= 1) return ink;
  const auto margin = static_cast<std::int64_t>(0.5 * (kStroke - width) / scale + 0.5);
  if (margin == 0) return ink;
  const Plane wider =
      put_on_ground(ink, margin, margin, 0, {ink.height + 2 * margin, ink.width + 2 * margin});
  return window_max(wider, 2 * margin + 1, 2 * margin + 1);
}

std::vector<std::uint8_t> pixels_like_mnist(const Mark& mark, PictureSize size) {
  const PictureSize box = box_in(size);
  return to_bytes(place_like_mnist(scale_into(without_hairlines(mark.ink, box), box), size));
}

// With its boxes in pixels of the picture.
LeftOut left_out_of(const Finding& found) {
  LeftOut left_out = found.left_out;
  for (InkBox& box : left_out.boxes) box = in_picture(box, found.plane, found.from);
  return left_out;
}

PreparedImage prepared_like_mnist(const Mark& mark, std::size_t marks, const Finding& found,
                                  PictureSize size) {
  return {pixels_like_mnist(mark, size),
          found.is_inverted,
          in_picture(mark.box, found.plane, found.from),
          mark.row,
          marks,
          left_out_of(found)};
}

// Characters, and how likely they are: the sum of the logarithms of their probabilities, less a
// price for each of which the judge is unsure, and for each cut.
struct Reading {
  double score = 0;
  std::vector<Mark> marks;
};

// The mark as one character, or, where the judge is unsure of it and it is wider than `wide`, cut
// into several, when they are more likely.
Reading best_reading(const Mark& mark, const Judge& judge, PictureSize size, double wide) {
  constexpr double kDoubt = 0.5, kCut = 0.3, kGap = 0.2;
  constexpr double kUnlikely = -1.0;  // the score of a part
  constexpr double kWiderPart = 1.25, kTouching = 1.25;
  const Judgement whole = judge(pixels_like_mnist(mark, size));
  Reading best{std::log(std::max(whole.probability, 1e-9)) - (whole.unsure ? kDoubt : 0), {mark}};
  const auto width = static_cast<double>(mark.box.width);
  if (!whole.unsure || width < wide) return best;
  for (const auto& [left, right, is_gap] : cuts_of(mark, width >= kTouching * wide)) {
    Reading both = best_reading(left, judge, size, kWiderPart * wide);
    if (both.score < kUnlikely) continue;
    const Reading rest = best_reading(right, judge, size, kWiderPart * wide);
    both.score += rest.score - (is_gap ? kGap : kCut);
    if (rest.score < kUnlikely || both.score <= best.score) continue;
    both.marks.insert(both.marks.end(), rest.marks.begin(), rest.marks.end());
    best = std::move(both);
  }
  return best;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// How wide one character is: the median of those of which the judge is sure and that are no upright
// strokes.
double usual_width(const std::vector<Mark>& marks, const Judge& judge, PictureSize size) {
  constexpr double kUpright = 0.35, kUsual = 0.7;  // width by height
  constexpr std::size_t kEnough = 2;
  std::vector<double> widths, heights;
  for (const Mark& mark : marks) {
    const auto width = static_cast<double>(mark.box.width),
               height = static_cast<double>(mark.box.height);
    heights.push_back(height);
    if (width < kUpright * height || judge(pixels_like_mnist(mark, size)).unsure) continue;
    widths.push_back(width);
  }
  return widths.size() < kEnough ? kUsual * median_of(heights) : median_of(widths);
}

std::vector<Mark> cut_apart(const std::vector<Mark>& marks, const Judge& judge, PictureSize size) {
  constexpr double kWide = 1.3;  // widths of a character
  const double wide = kWide * usual_width(marks, judge, size);
  std::vector<Mark> characters;
  for (const Mark& mark : marks) {
    const Reading reading = best_reading(mark, judge, size, wide);
    characters.insert(characters.end(), reading.marks.begin(), reading.marks.end());
  }
  return characters;
}

// Adds the ink of `inner` to `outer` when it lies inside its box. Returns whether it does.
bool takes_in(Mark& outer, const Mark& inner) {
  const std::int64_t left = inner.box.left - outer.box.left, top = inner.box.top - outer.box.top;
  if (left < 0 || top < 0 || inner.box.right() > outer.box.right() ||
      inner.box.bottom() > outer.box.bottom()) {
    return false;
  }
  for (std::int64_t y = 0; y < inner.box.height; ++y) {
    for (std::int64_t x = 0; x < inner.box.width; ++x) {
      float& ink = outer.ink.at(left + x, top + y);
      ink = std::max(ink, inner.ink.at(x, y));
    }
  }
  return true;
}

PreparedImage unprepared(const GreyImage& image, bool is_inverted, const std::string& name,
                         PictureSize size) {
  if (image.width != size.width || image.height != size.height) {
    throw Error(ErrorKind::data,
                str(name, ": without preprocessing a picture must be ", size.width, " x ",
                    size.height, ", found ", image.width, " x ", image.height));
  }
  PreparedImage result{image.pixels, is_inverted, {0, 0, size.width, size.height}, 0, 1};
  if (!is_inverted) return result;
  for (std::uint8_t& pixel : result.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
  return result;
}

PreparedImage resized(const GreyImage& image, Invert invert, PictureSize size) {
  Plane plane = to_plane(image);
  PreparedImage result{{}, must_invert(plane, invert), {0, 0, image.width, image.height}, 0, 1};
  if (result.inverted) invert_values(plane);
  const float ground = border_level(plane);
  const Plane scaled = scale_into(plane, size);
  result.pixels = to_bytes(put_on_ground(scaled, (size.width - scaled.width) / 2,
                                         (size.height - scaled.height) / 2, ground, size));
  return result;
}

}  // namespace

Preprocess parse_preprocess(std::string_view text) {
  constexpr Named<Preprocess> kNames[] = {
      {"mnist", Preprocess::mnist}, {"resize", Preprocess::resize}, {"none", Preprocess::none}};
  return row_named(kNames, "preprocess", text).value;
}

Invert parse_invert(std::string_view text) {
  constexpr Named<Invert> kNames[] = {
      {"auto", Invert::automatic}, {"yes", Invert::yes}, {"no", Invert::no}};
  return row_named(kNames, "invert", text).value;
}

std::vector<PreparedImage> prepare_marks(const GreyImage& image, Invert invert,
                                         const std::string& name, PictureSize size,
                                         const Judge& judge) {
  Finding found = find_in(image, invert, name);
  if (judge) found.marks = cut_apart(found.marks, judge, size);
  std::vector<PreparedImage> prepared;
  for (const Mark& mark : found.marks) {
    prepared.push_back(prepared_like_mnist(mark, found.marks.size(), found, size));
  }
  return prepared;
}

PreparedImage prepare_image(const GreyImage& image, Preprocess preprocess, Invert invert,
                            const std::string& name, PictureSize size) {
  check_size(image, name);
  if (preprocess == Preprocess::none) return unprepared(image, invert == Invert::yes, name, size);
  if (preprocess == Preprocess::resize) return resized(image, invert, size);
  Finding found = find_in(image, invert, name);
  // A mark at the border may be something beside the sheet, so it counts less.
  const auto weight = [&](const Mark& mark) {
    const InkBox& box = mark.box;
    const bool is_at_border = box.left <= 0 || box.top <= 0 || box.right() >= found.plane.width ||
                              box.bottom() >= found.plane.height;
    return box.width * box.height / (is_at_border ? 4 : 1);
  };
  const auto largest =
      std::max_element(found.marks.begin(), found.marks.end(),
                       [&](const Mark& a, const Mark& b) { return weight(a) < weight(b); });
  Mark mark = std::move(*largest);
  found.marks.erase(largest);
  // Without its eyes and mouth a face would be a zero.
  std::erase_if(found.marks, [&](const Mark& other) { return takes_in(mark, other); });
  return prepared_like_mnist(mark, found.marks.size() + 1, found, size);
}

}  // namespace weft::data
