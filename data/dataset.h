// SPDX-License-Identifier: MIT
// Dataset: labelled byte images in host memory, as every source in data/ delivers them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::data {

struct ImageSet {
  std::int64_t count = 0, height = 0, width = 0;
  std::vector<std::uint8_t> images;  // (count, height, width); 0 background, 255 ink
  std::vector<std::uint8_t> labels;  // (count,), each < class_names.size()
};

struct Dataset {
  std::string name;                      // "mnist", "digits", ...
  std::vector<std::string> class_names;  // "0".."9" or "T-shirt/top", ...
  float mean = 0, stddev = 1;            // of pixel/255 over the training images
  ImageSet train, test;
  std::string source;  // where it came from, for people: a folder, "generated"
};

}  // namespace weft::data
