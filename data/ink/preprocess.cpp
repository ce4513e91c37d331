// SPDX-License-Identifier: MIT
// Preprocessing of pictures for prediction.
#include "data/ink/preprocess.h"

#include <algorithm>
#include <cmath>

#include "data/ink/grid.h"
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
  return invert == Invert::automatic ? polarity_of(plane).is_dark_on_light : invert == Invert::yes;
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
  int reduction = 1;  // of the picture (image.h)
};

// From pixels of the plane to those of the file.
InkBox in_file(const InkBox& box, const Finding& found) {
  InkBox result = in_picture(box, found.plane, found.from);
  for (std::int64_t* part : {&result.left, &result.top, &result.width, &result.height}) {
    *part *= found.reduction;
  }
  return result;
}

LeftOut left_out_of(const Finding& found) {
  LeftOut left_out = found.left_out;
  for (InkBox& box : left_out.boxes) box = in_file(box, found);
  return left_out;
}

// What is there, when nothing of it is a character.
NothingToRead nothing_to_read(const Finding& found, const std::string& name) {
  constexpr float kLeastContrast = 10;  // grey levels
  const auto [low, high] = std::ranges::minmax(found.plane.values);
  std::string what = found.left_out.text();
  if (!(high - low >= kLeastContrast)) {
    what = "no ink/contrast to find a digit in";
  } else {
    if (what.empty()) {
      what = str("nothing ", found.is_inverted ? "darker" : "lighter",
                 " than the ground is shaped like a stroke");
    }
    what = "the picture has ink/contrast, but no mark of a digit's size: " + what;
  }
  return {str(name, ": ", what), found.is_inverted, left_out_of(found)};
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

// The marks of a picture; none when there is nothing to read.
Finding searched(const GreyImage& image, Invert invert) {
  const InkBox whole{0, 0, image.width, image.height};
  Plane plane = to_plane(image);
  if (const auto inner = photograph_in_margin(plane)) {
    const InkBox from = in_picture(*inner, plane, whole);
    const GreyImage part = part_of(image, from);
    Finding found = found_in(part, to_plane(part), from, invert);
    found.reduction = image.reduction;
    if (!found.marks.empty()) return found;
  }
  Finding found = found_in(image, std::move(plane), whole, invert);
  found.reduction = image.reduction;
  return found;
}

// What a recogniser makes of a finding: more for a better reading.
using Merit = std::function<double(const Finding&)>;

// Where the ground leaves open whether the ink is dark or light, both are tried, and the one that
// `merit` prefers is kept. Without `merit` it is what is common.
Finding find_in(const GreyImage& image, Invert invert, const std::string& name,
                const Merit& merit) {
  check_size(image, name);
  Finding found = searched(image, invert);
  if (invert == Invert::automatic && merit && polarity_of(found.plane).is_open) {
    Finding other = searched(image, found.is_inverted ? Invert::no : Invert::yes);
    const bool is_better =
        !other.marks.empty() && (found.marks.empty() || merit(other) > merit(found));
    if (is_better) found = std::move(other);
  }
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
  // A narrow loop keeps half of its ground, or its strokes stay as they are.
  constexpr double kLeastOpen = 0.5;
  const auto open = static_cast<double>(enclosed_pixels(ink));
  auto margin = static_cast<std::int64_t>(0.5 * (kStroke - width) / scale + 0.5);
  for (; margin > 0; margin /= 2) {
    const Plane larger =
        put_on_ground(ink, margin, margin, 0, {ink.height + 2 * margin, ink.width + 2 * margin});
    Plane wider = window_max(larger, 2 * margin + 1, 2 * margin + 1);
    if (static_cast<double>(enclosed_pixels(wider)) >= kLeastOpen * open) return wider;
  }
  return ink;
}

std::vector<std::uint8_t> pixels_like_mnist(const Mark& mark, PictureSize size) {
  const PictureSize box = box_in(size);
  // A digit in MNIST's own format keeps its pixels.
  const bool is_larger = mark.box.width > box.width && mark.box.height > box.height;
  const Plane ink = is_larger ? with_even_ink(mark.ink) : mark.ink;
  return to_bytes(place_like_mnist(scale_into(without_hairlines(ink, box), box), size));
}

// With its boxes in pixels of the picture.
PreparedImage prepared_like_mnist(const Mark& mark, std::size_t marks, const Finding& found,
                                  PictureSize size) {
  return {pixels_like_mnist(mark, size),
          found.is_inverted,
          in_file(mark.box, found),
          mark.row,
          marks,
          left_out_of(found)};
}

// Judges a mark as the network sees it.
MarkJudge judge_of_marks(const Judge& judge, PictureSize size) {
  return [&judge, size](const Mark& mark) { return judge(pixels_like_mnist(mark, size)); };
}

// A probability, and 1 more of what the judge is sure of.
double merit_of(const Judgement& judgement) {
  return judgement.probability + (judgement.unsure ? 0 : 1);
}

// The mean of the marks, of which large ones count more.
Merit merit_of_page(const Judge& judge, PictureSize size) {
  if (!judge) return {};
  return [judge = judge_of_marks(judge, size)](const Finding& found) {
    double sum = 0, all = 0;
    for (const Mark& mark : found.marks) {
      const auto area = static_cast<double>(mark.box.width * mark.box.height);
      sum += area * merit_of(judge(mark));
      all += area;
    }
    return sum / all;
  };
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
  const InkBox whole{0, 0, image.width * image.reduction, image.height * image.reduction};
  PreparedImage result{{}, must_invert(plane, invert), whole, 0, 1};
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
  Finding found = find_in(image, invert, name, merit_of_page(judge, size));
  if (judge) {
    const MarkJudge judge_mark = judge_of_marks(judge, size);
    found.marks = cut_apart(join_broken(std::move(found.marks), judge_mark), judge_mark);
  }
  std::vector<PreparedImage> prepared;
  for (const Mark& mark : found.marks) {
    prepared.push_back(prepared_like_mnist(mark, found.marks.size(), found, size));
  }
  return prepared;
}

std::vector<InkBox> boxes_of_form(const GreyImage& image, Invert invert) {
  constexpr std::int64_t kSide = 1600;  // a box of a full sheet has dozens of pixels
  const Finding page{
      {0, 0, image.width, image.height}, to_plane(image, kSide), false, {}, {}, image.reduction};
  std::vector<InkBox> boxes = printed_boxes(page.plane, must_invert(page.plane, invert));
  for (InkBox& box : boxes) box = in_file(box, page);
  return boxes;
}

namespace {

PreparedImage largest_of(Finding found, PictureSize size) {
  // A mark along the border may be something beside the sheet, so it counts less.
  const std::int64_t border = std::min(found.plane.width, found.plane.height) / 40;
  const auto weight = [&](const Mark& mark) {
    const InkBox& box = mark.box;
    const std::int64_t distance = std::min(
        {box.left, box.top, found.plane.width - box.right(), found.plane.height - box.bottom()});
    return box.width * box.height / (distance <= border ? 4 : 1);
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

}  // namespace

PreparedImage prepare_image(const GreyImage& image, Preprocess preprocess, Invert invert,
                            const std::string& name, PictureSize size, const Judge& judge) {
  check_size(image, name);
  if (preprocess == Preprocess::none) return unprepared(image, invert == Invert::yes, name, size);
  if (preprocess == Preprocess::resize) return resized(image, invert, size);
  Merit merit;
  if (judge) {
    merit = [&](const Finding& found) { return merit_of(judge(largest_of(found, size).pixels)); };
  }
  Finding found = find_in(image, invert, name, merit);
  if (judge) found.marks = join_broken(std::move(found.marks), judge_of_marks(judge, size));
  return largest_of(std::move(found), size);
}

}  // namespace weft::data
