// SPDX-License-Identifier: MIT
// The libraries that read files here, and their versions.
#pragma once

#include <string>
#include <vector>

namespace weft::data {

struct LibraryVersion {
  std::string name;
  std::string built;    // version of the headers; empty when they do not say
  std::string running;  // version of the library that is loaded; empty when it does not say
  std::string oldest;   // the oldest that the tests have passed with
};

// zlib, stb_image and, where they are built in, libwebp, libdeflate and libarchive.
std::vector<LibraryVersion> library_versions();

}  // namespace weft::data
