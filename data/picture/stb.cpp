// SPDX-License-Identifier: MIT
// The implementation of stb_image and stb_image_write, compiled here only. PNGs are written through
// zlib: its codes adapt to the picture, stb's own are fixed.
#include <zlib.h>

#include <cstddef>
#include <cstdlib>

namespace weft::data {
namespace {

thread_local std::size_t allocation_budget = 0;

// Memory is zeroed, so that pixels which a decoder never writes are the same in every run and hold
// nobody's data.
void* zeroed_malloc(std::size_t bytes) {
  if (bytes > allocation_budget) return nullptr;
  allocation_budget -= bytes;
  return std::calloc(bytes, 1);
}

// The caller frees what this returns; null when memory is short. Higher levels of zlib's take three
// times as long for 5 % less.
unsigned char* compressed(unsigned char* data, int bytes, int* compressed_bytes, int) {
  constexpr int kLevel = 4;
  uLongf room = compressBound(static_cast<uLong>(bytes));
  auto* out = static_cast<unsigned char*>(std::malloc(room));
  if (out == nullptr) return nullptr;
  if (compress2(out, &room, data, static_cast<uLong>(bytes), kLevel) != Z_OK) {
    std::free(out);
    return nullptr;
  }
  *compressed_bytes = static_cast<int>(room);
  return out;
}

}  // namespace

void set_stb_allocation_budget(std::size_t bytes) {
  allocation_budget = bytes;
}

}  // namespace weft::data

#define STBI_MALLOC(bytes) weft::data::zeroed_malloc(bytes)
#define STBI_REALLOC(old, bytes) nullptr  // only the decoder of PNGs would need it
#define STBI_FREE(old) std::free(old)
#define STBIW_ZLIB_COMPRESS weft::data::compressed

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "data/picture/stb.h"
#pragma GCC diagnostic pop
