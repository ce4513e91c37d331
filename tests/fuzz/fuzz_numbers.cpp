// SPDX-License-Identifier: MIT
// Any text is numbers or one line of Error{data}, wherever it is cut into parts, and numbers that
// are written and read again are the same.
#include <cmath>
#include <cstring>
#include <optional>

#include "data/arrays/number_text.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace weft;

struct Reading {
  data::NpyArray array;
  std::string error;  // empty: there is none
};

Reading read(std::string_view first, std::string_view second) {
  Reading reading;
  try {
    data::NumberReader reader("fuzz");
    reader.feed(first);
    reader.feed(second);
    reading.array = reader.finish();
    fuzz::require(reading.array.elements() > 0, "no numbers and no error");
  } catch (const Error& error) {
    fuzz::require_data_error(error, "fuzz");
    reading.error = error.what();
  }
  return reading;
}

template <class T>
void write_and_read(const data::NpyArray& array) {
  const std::span values(reinterpret_cast<const T*>(array.bytes.data()),
                         static_cast<std::size_t>(array.elements()));
  std::string text;
  data::append_lines(text, values);
  const Reading again = read(text, "");
  fuzz::require(
      again.error.empty() && again.array.dtype == array.dtype && again.array.shape == array.shape,
      "another array when it is written and read again");
  const T* other = reinterpret_cast<const T*>(again.array.bytes.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool both_nan =
        std::is_floating_point_v<T> && values[i] != values[i] && other[i] != other[i];
    fuzz::require(both_nan || std::memcmp(&values[i], &other[i], sizeof(T)) == 0,
                  "another number when it is written and read again");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::TimeLimit limit(2);
  if (size == 0) return 0;
  const std::string_view text = fuzz::text_of({bytes + 1, size - 1});
  const std::size_t cut = bytes[0] * text.size() / 255;
  const Reading whole = read(text, ""), parts = read(text.substr(0, cut), text.substr(cut));
  fuzz::require(whole.error == parts.error && whole.array.dtype == parts.array.dtype &&
                    whole.array.bytes == parts.array.bytes,
                "parts that are read otherwise than the whole");
  if (!whole.error.empty()) return 0;
  if (whole.array.dtype == "i8") {
    write_and_read<std::int64_t>(whole.array);
  } else if (whole.array.dtype == "u8") {
    write_and_read<std::uint64_t>(whole.array);
  } else {
    write_and_read<double>(whole.array);
  }
  return 0;
}
