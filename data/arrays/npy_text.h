// SPDX-License-Identifier: MIT
// Arrays of words in NumPy's .npy format: elements of U (UCS-4) and S (bytes), padded with zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

struct TextType {
  bool is_wide = false, big_endian = false;
  std::size_t characters = 0;  // of each element

  std::size_t bytes() const { return is_wide ? 4 * characters : characters; }
};

// The type that a descr such as "<U3" or "|S8" names; nothing when it is none of text.
std::optional<TextType> text_type(std::string_view descr);

// The elements as UTF-8, or as the bytes that they are. Throws data, with `where`, when they do not
// fill the bytes, and for what is no character.
std::vector<std::string> words_of_text(const TextType& type, std::span<const std::int64_t> shape,
                                       std::span<const std::byte> bytes, const std::string& where);

// What an .npy file of another type than numbers holds.
struct NpyOther {
  std::vector<std::int64_t> shape;
  std::vector<std::string> words;          // of text
  bool are_objects = false;                // else
  std::span<const std::byte> pickle = {};  // in the file: of the array of Python's objects
};

// Nothing for an .npy file of numbers. Throws data for one that is damaged, or of another type.
std::optional<NpyOther> parse_npy_other(std::span<const std::byte> file, const std::string& where);

}  // namespace weft::data
