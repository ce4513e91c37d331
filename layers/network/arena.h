// SPDX-License-Identifier: MIT
// Arena: regions of device memory whose sizes are all known before the one allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/extent.h"
#include "engine/stream.h"

namespace weft::layers {

// Declare regions, raise their sizes with need(), allocate() once, then ask for addresses.
class Arena {
 public:
  static constexpr std::size_t kAlignment = 256;  // of a Buffer, and enough for any vector access

  std::size_t add_region() {
    bytes_.push_back(0);
    return bytes_.size() - 1;
  }
  // The region holds at least this many bytes; regions that take turns are as large as the largest.
  void need(std::size_t region, std::size_t bytes) {
    bytes_[region] = std::max(bytes_[region], bytes);
  }

  // What allocate() will take.
  std::size_t needed_bytes() const {
    std::size_t total = 0;
    for (const std::size_t bytes : bytes_) total += round_up(bytes, kAlignment);
    return total;
  }

  void allocate(const Stream& stream) {
    std::size_t total = 0;
    for (const std::size_t bytes : bytes_) {
      offsets_.push_back(total);
      total += round_up(bytes, kAlignment);
    }
    buffer_ = Buffer(total, stream);
  }

  // nullptr for an empty region.
  void* at(std::size_t region) const {
    if (bytes_[region] == 0) return nullptr;
    return static_cast<std::byte*>(buffer_.data()) + offsets_[region];
  }
  std::size_t region_bytes(std::size_t region) const { return bytes_[region]; }
  std::size_t total_bytes() const { return buffer_.bytes(); }

 private:
  std::vector<std::size_t> bytes_, offsets_;
  Buffer buffer_;
};

}  // namespace weft::layers
