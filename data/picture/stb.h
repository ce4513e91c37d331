// SPDX-License-Identifier: MIT
// stb_image as Weft builds it, for JPEG in and PNG out: memory only, zeroed allocations under a
// budget. Internal to image.cpp and picture/jpeg.cpp.
#pragma once

#include <cstddef>

#define STBI_NO_STDIO
#define STBI_ONLY_JPEG
// Only a backstop: far smaller pictures are refused before, with their size in the message.
#define STBI_MAX_DIMENSIONS (1 << 20)
#define STBI_ASSERT(condition) static_cast<void>(0)  // no file may abort a debug build
#define STBI_WRITE_NO_STDIO
#include <stb_image.h>
#include <stb_image_write.h>

namespace weft::data {

// How many bytes stb_image may allocate in this thread from now on, all calls together. More fails
// as "outofmem".
void set_stb_allocation_budget(std::size_t bytes);

}  // namespace weft::data
