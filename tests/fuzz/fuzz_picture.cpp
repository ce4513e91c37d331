// SPDX-License-Identifier: MIT
// Any bytes are a picture or one line of Error{data}, and the same of the two every time.
// libFuzzer calls this (run.sh); replay.cpp calls it with the files of a corpus.
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <optional>

#include "data/image.h"
#include "engine/error.h"

namespace {

using weft::data::GreyImage;
using weft::data::RgbImage;

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "fuzz_picture: " << what << "\n";
  std::abort();
}

std::optional<RgbImage> decode(std::span<const std::uint8_t> bytes) {
  std::optional<GreyImage> grey;  // JPEG has a way of its own to grey
  try {
    grey = weft::data::decode_grey_image(bytes, "fuzz");
  } catch (const weft::Error&) {
  }
  try {
    RgbImage image = weft::data::decode_rgb_image(bytes, "fuzz");
    require(grey && grey->width == image.width && grey->height == image.height &&
                grey->pixels.size() == image.grey.size(),
            "a picture that cannot be read in grey");
    return image;
  } catch (const weft::Error& error) {
    require(!grey, "a picture that can be read in grey only");
    const std::string_view line = error.what();
    require(error.kind() == weft::ErrorKind::data, "an error of another kind");
    require(line.starts_with("fuzz: "), "an error that does not name the file");
    for (const char c : line)
      require(c >= ' ' && c <= '~', "an error that is not one line of text");
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  // Time of the processor, so that a busy machine makes no finding.
  constexpr std::clock_t kMost = 2 * CLOCKS_PER_SEC;
  const std::clock_t begin = std::clock();
  const std::optional<RgbImage> first = decode({bytes, size});
  require(std::clock() - begin < kMost, "took more than 2 s");
  if (!first) return 0;
  const std::optional<RgbImage> again = decode({bytes, size});
  require(again.has_value(), "refused the second time");
  const auto pixels = static_cast<std::size_t>(first->width * first->height);
  require(pixels > 0 && first->grey.size() == pixels, "not as many pixels as it says");
  require(first->grey == again->grey && first->red == again->red && first->green == again->green &&
              first->blue == again->blue,
          "pixels that differ from one time to the next");
  return 0;
}
