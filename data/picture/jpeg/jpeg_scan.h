// SPDX-License-Identifier: MIT
// A frame of a JPEG and its scans. Internal to the JPEG reader.
#pragma once

#include <array>
#include <vector>

#include "data/picture/jpeg/jpeg_huffman.h"

namespace weft::data {

// Sizes are in blocks of 8 x 8 samples.
struct JpegComponent {
  int id = 0, h = 1, v = 1;  // sampling factors
  std::size_t quantisation_table = 0;
  std::int64_t width = 0, height = 0;            // what holds pixels of the picture
  std::int64_t full_width = 0, full_height = 0;  // with the padding of the last MCUs
  // The lowest bit of each coefficient, in zigzag order, that the scans so far have sent.
  static constexpr std::int8_t kNothing = 64;
  std::array<std::int8_t, 64> lowest_bit = filled_with_nothing();
  // For progressive files: the nonzero AC coefficients of each block, one bit each. Allocated by
  // the first AC scan.
  std::vector<std::uint64_t> nonzero;

  bool has_been_scanned() const { return lowest_bit[0] != kNothing; }

 private:
  static constexpr std::array<std::int8_t, 64> filled_with_nothing() {
    std::array<std::int8_t, 64> bits{};
    bits.fill(kNothing);
    return bits;
  }
};

struct JpegFrame {
  bool is_progressive = false;
  std::int64_t width = 0, height = 0;         // pixels
  int reduction = 1;                          // of both sides when it is decoded (image.h)
  std::int64_t mcus_wide = 0, mcus_high = 0;  // in scans with several components
  std::vector<JpegComponent> components;

  std::int64_t blocks() const {
    std::int64_t sum = 0;
    for (const JpegComponent& c : components) sum += c.full_width * c.full_height;
    return sum;
  }
  // What a decoder keeps of a file of several scans: 64 coefficients a block, of 16 bits each.
  std::int64_t coefficient_bytes() const { return 128 * blocks(); }
};

struct JpegScan {
  struct Part {
    JpegComponent* component = nullptr;
    const HuffmanTable* dc = nullptr;
    const HuffmanTable* ac = nullptr;
    int dc_step = 1;  // quantisation step of DC coefficients
  };
  std::vector<Part> parts;
  int first = 0, last = 63;  // coefficients in zigzag order
  int high = 0, low = 0;     // successive approximation: lowest bit sent before, and by this scan
  std::int64_t restart_interval = 0;  // MCUs; 0: none

  // The number of blocks that a decoder visits for this scan.
  std::int64_t blocks(const JpegFrame& frame) const;
};

// Reads the data of a scan, which begins at byte `begin` of the file, as a decoder does, without
// computing pixels. Every block must be there, every code be in its table, and every coefficient in
// its block and in 16 bits. Returns where the data ends; throws data for anything else.
std::size_t check_scan_data(const JpegFrame& frame, const JpegScan& scan,
                            std::span<const std::uint8_t> file, std::size_t begin,
                            const std::string& name);

}  // namespace weft::data
