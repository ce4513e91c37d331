// SPDX-License-Identifier: MIT
// Guarded<T>: device memory between guard bands, filled with NaN bits (0xff) before use, so that
// unwritten outputs and out-of-bounds writes show without a sanitizer.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "engine/tensor.h"

namespace weft::test {

template <class T>
class Guarded {
 public:
  // `misalign` shifts the first element by so many elements from a 256-byte boundary.
  Guarded(std::int64_t n, const Stream& stream, std::int64_t misalign = 0)
      : n_(n),
        front_(kBand + misalign),
        stream_(stream),
        memory_(Shape{front_ + n + kBand}, dtype_of<T>(), stream) {
    std::vector<T> poison(static_cast<std::size_t>(memory_.elements()));
    std::memset(poison.data(), 0xff, poison.size() * sizeof(T));
    copy_from_host(memory_.template view<T>(), std::span<const T>(poison), stream_);
  }
  Guarded(const std::vector<T>& values, const Stream& stream, std::int64_t misalign = 0)
      : Guarded(static_cast<std::int64_t>(values.size()), stream, misalign) {
    set(values);
  }

  T* data() { return memory_.template data<T>() + front_; }
  const T* data() const { return memory_.template data<T>() + front_; }
  std::int64_t size() const { return n_; }

  void set(const std::vector<T>& values) {
    copy_from_host(TensorView<T>{data(), Shape{n_}, memory_.device()}, std::span<const T>(values),
                   stream_);
  }

  // The values on the host; fails the running test when a guard band was written.
  std::vector<T> get() const {
    const std::vector<T> all = to_host(memory_.template view<T>(), stream_);
    bool intact = true;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(all.size()); ++i) {
      if (i >= front_ && i < front_ + n_) continue;
      const unsigned char* bytes =
          reinterpret_cast<const unsigned char*>(&all[static_cast<std::size_t>(i)]);
      for (std::size_t b = 0; b < sizeof(T); ++b) intact = intact && bytes[b] == 0xff;
    }
    EXPECT_TRUE(intact) << "memory beside an output of " << n_ << " elements was overwritten";
    return std::vector<T>(all.begin() + front_, all.begin() + front_ + n_);
  }

 private:
  static constexpr std::int64_t kBand = 1024;  // elements; a multiple of 256 bytes for every T

  std::int64_t n_, front_;
  Stream stream_;
  Tensor memory_;
};

}  // namespace weft::test
