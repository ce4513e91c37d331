// SPDX-License-Identifier: MIT
// Dataset: labelled byte images in host memory, as every source in data/ delivers them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/files/host_array.h"
#include "data/picture/fit.h"

namespace weft::data {

struct ImageSet {
  std::int64_t count = 0, channels = 1, height = 0, width = 0;
  // (count, channels, height, width); in grey 255 is ink. Images that are too many for the memory
  // are in a file (host_array.h).
  HostArray<std::uint8_t> images = {};
  std::vector<std::int32_t> labels = {};  // (count,), each in [0, class_names.size())

  std::int64_t pixels() const { return channels * height * width; }  // bytes of an image
  std::span<const std::uint8_t> image(std::int64_t index) const {
    return std::span(images).subspan(static_cast<std::size_t>(index * pixels()),
                                     static_cast<std::size_t>(pixels()));
  }
};

struct Dataset {
  std::string name;                      // "mnist", "digits", ...
  std::vector<std::string> class_names;  // "0".."9" or "T-shirt/top", ...
  // Each channel's mean and standard deviation of pixel / 255 over the training images.
  std::vector<float> mean = {0}, stddev = {1};
  Fit fit = Fit::letterbox;  // how pictures of other sizes come to this one
  int sample_bits = 0;       // of white in PNGs of 16 bits a sample (image.h); 0: there are none
  ImageSet train, test;
  ImageSet validation;  // no images: it is drawn from the training images
  // Pictures of none of the classes, each with a class drawn at random: a network that trains on
  // them, too, learns to be sure of none. Most data sets have none.
  ImageSet strangers;
  bool own_data = false;  // of the user's own (own_data.h)
  std::string source;     // where it came from, for people: a folder, "generated"
};

// An image of the set as (height, width, channels), which is how pictures are written.
std::vector<std::uint8_t> interleaved(const ImageSet& set, std::int64_t index);

}  // namespace weft::data
