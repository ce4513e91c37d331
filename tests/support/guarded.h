// SPDX-License-Identifier: MIT
// Guarded<T>: device memory between guard bands, filled with NaN bits before use, so that unwritten
// outputs and out-of-bounds writes show without a sanitizer.
//
// Inputs and outputs have different bits in their bands, and both are signalling NaNs, which
// arithmetic changes: a kernel that runs past the end of its input and its output then writes other
// bits than those that were there. On host-cuda there is no band behind the memory: it ends where
// the device allocation ends, and the first access beyond it is reported.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "engine/device.h"
#include "engine/tensor.h"

namespace weft::test {

template <class T>
class Guarded {
 public:
  // An output of n elements. `misalign` shifts the first one by so many elements from a 256-byte
  // boundary.
  Guarded(std::int64_t n, const Stream& stream, std::int64_t misalign = 0)
      : Guarded(n, stream, misalign, kOutputBand) {}
  // An input, or what a kernel updates in place.
  Guarded(const std::vector<T>& values, const Stream& stream, std::int64_t misalign = 0)
      : Guarded(static_cast<std::int64_t>(values.size()), stream, misalign, kInputBand) {
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
    const std::vector<T> untouched = poison();
    const auto first = static_cast<std::size_t>(front_),
               last = static_cast<std::size_t>(front_ + n_);
    const bool intact = std::memcmp(all.data(), untouched.data(), first * sizeof(T)) == 0 &&
                        std::memcmp(all.data() + last, untouched.data() + last,
                                    (all.size() - last) * sizeof(T)) == 0;
    EXPECT_TRUE(intact) << "memory beside an output of " << n_ << " elements was overwritten";
    return std::vector<T>(all.begin() + front_, all.begin() + front_ + n_);
  }

 private:
  // A signalling NaN as float and as bfloat16, negative as an integer.
  using Band = std::array<unsigned char, 4>;
  static constexpr Band kInputBand{0xa5, 0xff, 0x85, 0xff}, kOutputBand{0x9a, 0xff, 0xba, 0xff};
  static constexpr std::int64_t kBand = 1024;  // elements; a multiple of 256 bytes for every T

  Guarded(std::int64_t n, const Stream& stream, std::int64_t misalign, const Band& band)
      : n_(n),
        front_((built_for_host_cuda() ? 0 : kBand) + misalign),
        band_(band),
        stream_(stream),
        memory_(Shape{front_ + n + (built_for_host_cuda() ? 0 : kBand)}, dtype_of<T>(), stream) {
    copy_from_host(memory_.template view<T>(), std::span<const T>(poison()), stream_);
  }

  // What the memory holds before use.
  std::vector<T> poison() const {
    std::vector<T> values(static_cast<std::size_t>(memory_.elements()));
    unsigned char* bytes = reinterpret_cast<unsigned char*>(values.data());
    for (std::size_t i = 0; i < values.size() * sizeof(T); ++i) bytes[i] = band_[i % band_.size()];
    return values;
  }

  std::int64_t n_, front_;
  Band band_;
  Stream stream_;
  Tensor memory_;
};

}  // namespace weft::test
