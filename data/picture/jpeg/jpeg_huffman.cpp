// SPDX-License-Identifier: MIT
#include "data/picture/jpeg/jpeg_huffman.h"

#include <algorithm>

namespace weft::data {

void HuffmanTable::define(std::span<const std::uint8_t> counts, ByteCursor& segment,
                          const std::string& name) {
  std::size_t total = 0;
  std::uint32_t code = 0;
  for (std::size_t length = 1; length <= kMostBits; ++length) {
    const std::uint32_t count = counts[length - 1];
    first_symbol_[length] = static_cast<int>(total) - static_cast<int>(code);
    total += count;
    code += count;
    if (code > 1u << length) {
      throw damaged_picture(
          name, str("a Huffman table has more codes of up to ", length, " bits than there can be"));
    }
    end_[length] = code << (kMostBits - length);
    code <<= 1;
  }
  if (total > symbols_.size()) {
    throw damaged_picture(
        name, str("a Huffman table has ", total, " codes, expected at most ", symbols_.size()));
  }
  const std::span<const std::uint8_t> symbols = segment.take(total);
  std::copy(symbols.begin(), symbols.end(), symbols_.begin());
  short_codes_.fill(0);
  std::size_t filled = 0, next = 0;
  for (std::size_t length = 1; length <= kShortBits; ++length) {
    for (int i = 0; i < counts[length - 1]; ++i) {
      const std::size_t room = std::size_t{1} << (kShortBits - length);
      const auto entry = static_cast<std::uint16_t>(length << 8 | symbols[next++]);
      std::fill_n(short_codes_.begin() + static_cast<std::ptrdiff_t>(filled), room, entry);
      filled += room;
    }
  }
  defined_ = true;
}

void JpegBits::fill() {
  // Four bytes at once where none of them is 0xff, as nearly everywhere.
  if (count_ <= 32 && file_.size() - at_ >= 4) {
    const std::uint8_t* next = &file_[at_];
    const std::uint32_t word = std::uint32_t{next[0]} << 24 | std::uint32_t{next[1]} << 16 |
                               std::uint32_t{next[2]} << 8 | std::uint32_t{next[3]};
    const std::uint32_t inverse = ~word;  // has a zero byte where the word has 0xff
    if (((inverse - 0x01010101u) & word & 0x80808080u) == 0) {
      bits_ |= std::uint64_t{word} << (32 - count_);
      count_ += 32;
      at_ += 4;
      return;
    }
  }
  while (count_ <= 56 && at_ < file_.size()) {
    const std::uint8_t byte = file_[at_];
    if (byte == 0xff) {
      if (at_ + 1 >= file_.size() || file_[at_ + 1] != 0) return;
      ++at_;
    }
    ++at_;
    bits_ |= std::uint64_t{byte} << (56 - count_);
    count_ += 8;
  }
}

std::size_t JpegBits::end() const {
  std::size_t at = at_;
  for (int whole = count_ / 8; whole > 0; --whole) {
    at -= at >= 2 && file_[at - 1] == 0 && file_[at - 2] == 0xff ? 2 : 1;
  }
  return at;
}

void JpegBits::pass_restart(int number) {
  std::size_t at = end();
  while (at + 1 < file_.size() && file_[at] == 0xff && file_[at + 1] == 0xff) ++at;  // padding
  if (at + 1 >= file_.size() || file_[at] != 0xff || file_[at + 1] != 0xd0 + number) {
    throw damaged_picture(name_, str("restart marker ", number, " is expected at byte ", at));
  }
  at_ = at + 2;
  bits_ = 0;
  count_ = 0;
}

void JpegBits::fail(bool is_bad_code) const {
  throw damaged_picture(name_, is_bad_code && count_ >= HuffmanTable::kMostBits
                                   ? str("no Huffman code before byte ", at_)
                                   : str("the data of a scan ends early, at byte ", at_));
}

}  // namespace weft::data
