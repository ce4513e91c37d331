// SPDX-License-Identifier: MIT
// The implementation of stb_image and stb_image_write, compiled here only.
#include <cstddef>
#include <cstdlib>

namespace weft::data {
namespace {

thread_local std::size_t allocation_limit = 0;

void* limited_malloc(std::size_t bytes) {
  return bytes <= allocation_limit ? std::malloc(bytes) : nullptr;
}

void* limited_realloc(void* old, std::size_t bytes) {
  return bytes <= allocation_limit ? std::realloc(old, bytes) : nullptr;
}

}  // namespace

void set_stb_allocation_limit(std::size_t bytes) {
  allocation_limit = bytes;
}

}  // namespace weft::data

#define STBI_MALLOC(bytes) weft::data::limited_malloc(bytes)
#define STBI_REALLOC(old, bytes) weft::data::limited_realloc(old, bytes)
#define STBI_FREE(old) std::free(old)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "data/stb.h"
#pragma GCC diagnostic pop
