// SPDX-License-Identifier: MIT
// zlib's inflate stream with an owner. Internal to gzip.cpp and the PNG reader.
#pragma once

#include <zlib.h>

#include <new>

#include "engine/error.h"

namespace weft::data {

class Inflater {
 public:
  enum class Format { gzip, zlib };

  explicit Inflater(Format format) {
    constexpr int kGzipOnly = 16;  // added to the window bits: gzip framing, no raw zlib
    const int window = MAX_WBITS + (format == Format::gzip ? kGzipOnly : 0);
    const int code = inflateInit2(&stream_, window);
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code != Z_OK) throw Error(ErrorKind::data, "zlib could not be initialised");
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  z_stream* operator->() { return &stream_; }
  z_stream* get() { return &stream_; }

 private:
  z_stream stream_{};
};

}  // namespace weft::data
