// SPDX-License-Identifier: MIT
// The Huffman codes and the bit stream of a JPEG scan. Internal to the JPEG reader.
#pragma once

#include <array>

#include "data/picture/picture.h"

namespace weft::data {

// A canonical Huffman code of at most 256 symbols and 16 bits (ITU-T T.81, annex C).
class HuffmanTable {
 public:
  static constexpr int kMostBits = 16;

  bool is_defined() const { return defined_; }
  // `counts` holds the number of codes of 1, 2, ... 16 bits; `segment` continues with their
  // symbols. Throws data for more than 256 codes, or more of a length than can differ.
  void define(std::span<const std::uint8_t> counts, ByteCursor& segment, const std::string& name);

  // The symbol whose code begins these 16 bits, and the length of the code. The length is 0 when no
  // code fits.
  struct Match {
    int length = 0, symbol = 0;
  };
  Match match(std::uint32_t bits) const {
    const std::uint16_t found = short_codes_[bits >> (kMostBits - kShortBits)];
    if (found != 0) return {found >> 8, found & 0xff};
    for (int length = kShortBits + 1; length <= kMostBits; ++length) {
      const auto i = static_cast<std::size_t>(length);
      if (bits >= end_[i]) continue;
      const auto code = static_cast<int>(bits >> (kMostBits - length));
      return {length, symbols_[static_cast<std::size_t>(code + first_symbol_[i])]};
    }
    return {};
  }

 private:
  static constexpr int kShortBits = 9;  // codes up to this length are looked up

  std::array<std::uint16_t, 1 << kShortBits> short_codes_ = {};  // length << 8 | symbol; 0: none
  std::array<std::uint32_t, kMostBits + 1> end_ = {};            // [length]: one past its last code
  std::array<int, kMostBits + 1> first_symbol_ = {};             // [length]: index less code
  std::array<std::uint8_t, 256> symbols_ = {};
  bool defined_ = false;
};

// The bits of a scan, up to the next marker. In the data, a byte 0xff is always followed by 0. A
// 0xff followed by anything else begins a marker.
class JpegBits {
 public:
  JpegBits(std::span<const std::uint8_t> file, std::size_t begin, const std::string& name)
      : file_(file), at_(begin), name_(name) {}

  int symbol(const HuffmanTable& table) { return symbol_and_bits(table, 0); }
  // A symbol of AC coefficients: its low four bits are the number of bits behind it, which are
  // skipped.
  int symbol_of_coefficient(const HuffmanTable& table) { return symbol_and_bits(table, 15); }
  // The next bits as a number; `count` is 0 to 16.
  int number(int count) {
    if (count == 0) return 0;
    need(count);
    const int value = static_cast<int>(bits_ >> (64 - count));
    drop(count);
    return value;
  }
  void skip(int count) {
    for (; count > 32; count -= 32) skip_few(32);
    skip_few(count);
  }
  // Reads the restart marker with this number, 0 to 7. Throws data when something else comes next.
  void pass_restart(int number);
  // Where the data ends: one past the byte that holds the last bit read.
  std::size_t end() const;

 private:
  int symbol_and_bits(const HuffmanTable& table, int mask) {
    if (count_ < HuffmanTable::kMostBits + mask) fill();
    const auto [length, symbol] =
        table.match(static_cast<std::uint32_t>(bits_ >> (64 - HuffmanTable::kMostBits)));
    const int all = length + (symbol & mask);
    if (length == 0 || all > count_) fail(length == 0);
    drop(all);
    return symbol;
  }
  void need(int count) {
    if (count_ < count) fill();
    if (count_ < count) fail(false);
  }
  void skip_few(int count) {
    if (count == 0) return;
    need(count);
    drop(count);
  }
  void drop(int count) {
    bits_ <<= count;
    count_ -= count;
  }
  void fill();
  [[noreturn]] void fail(bool is_bad_code) const;

  std::span<const std::uint8_t> file_;
  std::size_t at_;          // the first byte that is not in bits_ yet
  std::uint64_t bits_ = 0;  // the next bit is the highest; 0 after the last
  int count_ = 0;           // of bits in bits_
  const std::string& name_;
};

}  // namespace weft::data
