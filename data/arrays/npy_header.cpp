// SPDX-License-Identifier: MIT
// A reader of the one Python dictionary that an .npy header is.
#include "data/arrays/npy_header.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "data/arrays/npy.h"
#include "data/arrays/npy_text.h"
#include "engine/error.h"
#include "engine/names.h"
#include "engine/text.h"

namespace weft::data {
namespace {

Error bad(const std::string& where, const std::string& what) {
  return Error(ErrorKind::data, str(where, ": ", what));
}

Error bad_header(const std::string& where, const std::string& what) {
  return bad(where, "npy header: " + what);
}

void set_npy_type(NpyHeader& header, std::string_view descr, const std::string& where) {
  std::string_view type = descr;
  const bool has_order =
      !type.empty() && std::string_view("<>=|").find(type[0]) != std::string_view::npos;
  header.big_endian = has_order && type[0] == '>';
  if (has_order) type.remove_prefix(1);
  if (type == "b1") type = "u1";
  header.half = type == "f2";
  if (header.half) type = "u2";
  constexpr std::string_view kKnown[] = {"f4", "f8", "i1", "i2", "i4",
                                         "i8", "u1", "u2", "u4", "u8"};
  const auto* const known = std::find(std::begin(kKnown), std::end(kKnown), type);
  if (known == std::end(kKnown)) {
    throw bad_header(where, str("elements of type ", shown(descr),
                                " are not supported (expected integers, f2, f4 or f8)"));
  }
  header.dtype = *known;
}

bool is_other_type(std::string_view descr) {
  return text_type(descr) || descr == "|O" || descr == "O";
}

void set_data_bytes(NpyHeader& header, const std::string& where) {
  std::size_t bytes = npy_element_bytes(header.dtype);
  const bool empty = std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end();
  for (const std::int64_t extent : header.shape) {
    if (empty) break;
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes) ||
        bytes > static_cast<std::size_t>(INT64_MAX)) {
      throw bad_header(where, "shape asks for more than 2^63 bytes");
    }
  }
  header.data_bytes = empty ? 0 : bytes;
}

class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where, NpyTypes types)
      : text_(text), where_(where), types_(types) {}

  NpyHeader read() {
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        once(has_descr_, key);
        set_type();
      } else if (key == "fortran_order") {
        once(has_order_, key);
        header_.fortran_order = boolean();
      } else if (key == "shape") {
        once(has_shape_, key);
        set_shape();
      } else {
        throw fail(str("unknown key ", shown(key)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) throw fail(str("text after the dictionary: ", rest()));
    if (!has_descr_ || !has_order_ || !has_shape_) {
      throw fail("descr, fortran_order and shape are not all there");
    }
    if (!header_.dtype.empty()) set_data_bytes(header_, where_);
    return std::move(header_);
  }

 private:
  Error fail(const std::string& what) const { return bad_header(where_, what); }
  std::string rest() const {
    return at_ < text_.size() ? shown(text_.substr(at_)) : std::string("its end");
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw fail(str("expected '", c, "', found ", rest()));
  }
  void once(bool& seen, const std::string& key) const {
    if (seen) throw fail(str(key, " appears twice"));
    seen = true;
  }

  std::string string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') throw fail(str("expected a string, found ", rest()));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) throw fail("a string does not end");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }

  bool boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    throw fail(str("expected True or False, found ", rest()));
  }

  void set_type() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[') {
      throw fail("records of several fields are not supported, save one field of them");
    }
    const std::string descr = string();
    if (types_ == NpyTypes::any && is_other_type(descr)) {
      header_.descr = descr;
      return;
    }
    set_npy_type(header_, descr, where_);
  }

  void set_shape() {
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t extent = 0;
      const char* begin = text_.data() + at_;
      const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (code != std::errc{} || extent < 0) {
        throw fail(str("expected an extent of the shape, found ", rest()));
      }
      at_ += static_cast<std::size_t>(end - begin);
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
      header_.shape.push_back(extent);
      if (header_.shape.size() > kMaxNpyRank) {
        throw fail(str("more than ", kMaxNpyRank, " dimensions"));
      }
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  const std::string& where_;
  const NpyTypes types_;
  std::size_t at_ = 0;
  NpyHeader header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

}  // namespace

NpyTextRange find_npy_header(std::span<const std::byte> first, std::uint64_t file_bytes,
                             const std::string& where) {
  const std::size_t magic = kNpyMagic.size();
  if (!is_npy(first)) throw bad(where, "not an .npy file: no NumPy magic number at its beginning");
  if (first.size() < magic + 2) throw bad(where, "npy header cut off");
  const int version = std::to_integer<int>(first[magic]);
  if (version < 1 || version > 3) {
    throw bad(where, str("npy version: expected 1, 2 or 3, found ", version));
  }
  const std::size_t width = version == 1 ? 2 : 4;
  if (first.size() < magic + 2 + width) throw bad(where, "npy header cut off");
  NpyTextRange range{magic + 2 + width, 0};
  for (std::size_t i = 0; i < width; ++i) {
    range.size |= std::to_integer<std::size_t>(first[magic + 2 + i]) << (8 * i);
  }
  if (range.size > kMaxNpyHeaderBytes) {
    throw bad(where, str("npy header of ", range.size, " bytes, at most ", kMaxNpyHeaderBytes,
                         " are accepted"));
  }
  if (range.size > file_bytes - range.begin) {
    throw bad(where,
              str("npy header cut off: ", file_bytes - range.begin, " of ", range.size, " bytes"));
  }
  return range;
}

NpyHeader parse_npy_header(std::string_view text, const std::string& where, NpyTypes types) {
  return HeaderReader(text, where, types).read();
}

NpyHeader npy_header_of(std::string_view descr, bool fortran_order, std::vector<std::int64_t> shape,
                        const std::string& where) {
  NpyHeader header;
  set_npy_type(header, descr, where);
  header.fortran_order = fortran_order;
  header.shape = std::move(shape);
  set_data_bytes(header, where);
  return header;
}

}  // namespace weft::data
