// SPDX-License-Identifier: MIT
// From a picture of any size to the bytes that a network for drawn characters reads: 28 x 28 of
// them in the MNIST family.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "data/ink/cuts.h"
#include "data/ink/ink.h"
#include "data/picture/image.h"
#include "engine/error.h"

namespace weft::data {

enum class Preprocess {
  mnist,   // find the ink and place it as MNIST's makers did: in a box of 20/28 of each side, with
           // its centre of mass in the middle
  resize,  // the whole picture, scaled to the size and padded
  none,    // must have the size already
};

enum class Invert {
  automatic,  // dark ink on light paper is inverted, light on dark is kept; never with `none`
  yes,        // the picture is dark on light
  no,         // the picture is light on dark, as MNIST is
};

// "mnist", "resize", "none" and "auto", "yes", "no"; throws usage for other text.
Preprocess parse_preprocess(std::string_view text);
Invert parse_invert(std::string_view text);

// What the network reads, in pixels.
struct PictureSize {
  std::int64_t height = 28, width = 28;
};

struct PreparedImage {
  std::vector<std::uint8_t> pixels;  // (height, width); 0 background, 255 ink
  bool inverted = false;
  InkBox box;             // where it is in the picture, in the pixels of its file
  std::int64_t row = 0;   // of the writing, from 0
  std::size_t marks = 0;  // how many were found in the whole picture, this one included
  LeftOut left_out = {};  // in the whole picture, and pixels of the file
};

// A picture without a character; what was found of it all the same.
class NothingToRead : public Error {
 public:
  NothingToRead(const std::string& message, bool is_inverted, LeftOut not_read)
      : Error(ErrorKind::data, message), inverted(is_inverted), left_out(std::move(not_read)) {}

  bool inverted;
  LeftOut left_out;  // in pixels of the file
};

// What a recogniser says of prepared pixels.
using Judge = std::function<Judgement(std::span<const std::uint8_t> pixels)>;

// Where a picture has several marks, `mnist` takes the largest, and prefers those that do not touch
// the border. The marks inside its box are parts of it, as the eyes of a face are. Throws
// NothingToRead when there is no contrast to find ink in, or no mark of a character's size (mnist),
// and data when the size is wrong (none). `name` is for the message.
//
// Where the picture leaves open whether its ink is dark or light, `mnist` tries both, and takes the
// one of which the judge is surer.
PreparedImage prepare_image(const GreyImage& image, Preprocess preprocess, Invert invert,
                            const std::string& name, PictureSize size = {},
                            const Judge& judge = {});

// The printed boxes of a form (grid.h), in pixels of the file.
std::vector<InkBox> boxes_of_form(const GreyImage& image, Invert invert);

// Every mark of the picture in reading order, at least one, each as `mnist` prepares it; throws
// NothingToRead as prepare_image() does. A mark of which the judge is unsure is cut into characters
// that touch each other, where these are more probable than the mark as it is. The judge decides on
// open ink, too, as above.
std::vector<PreparedImage> prepare_marks(const GreyImage& image, Invert invert,
                                         const std::string& name, PictureSize size = {},
                                         const Judge& judge = {});

}  // namespace weft::data
