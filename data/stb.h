// SPDX-License-Identifier: MIT
// stb_image as Weft builds it: four formats, memory only, and a limit on every allocation.
// Internal to image.cpp.
#pragma once

#include <cstddef>

#define STBI_NO_STDIO
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_ONLY_PNM
// Only a backstop: image.cpp refuses far smaller pictures, and says how large they are.
#define STBI_MAX_DIMENSIONS (1 << 20)
#define STBI_ASSERT(condition) static_cast<void>(0)  // no file may abort a debug build
#define STBI_WRITE_NO_STDIO
#include <stb_image.h>
#include <stb_image_write.h>

namespace weft::data {

// The largest single allocation stb_image may make in this thread; more fails as "outofmem". A PNG
// may inflate to far more than its dimensions need: this is what stops it.
void set_stb_allocation_limit(std::size_t bytes);

}  // namespace weft::data
