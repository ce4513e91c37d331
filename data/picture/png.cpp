// SPDX-License-Identifier: MIT
// Reads every kind of PNG in the standard. zlib inflates the pixel data row by row, so memory never
// holds more than the picture needs.
#include <algorithm>
#include <cstdlib>

#include "data/files/inflater.h"
#include "data/picture/exif.h"
#include "data/picture/picture.h"
#include "data/picture/png_chunks.h"
#include "engine/extent.h"

namespace weft::data {
namespace {

// Inflates the pixel data from one IDAT chunk after the other.
class PixelStream {
 public:
  PixelStream(const PngChunks& chunks, const std::string& name)
      : chunks_(chunks), name_(name), inflater_(Inflater::Format::zlib) {}

  void read(std::span<std::uint8_t> out) {
    if (fill(out) < out.size()) throw damaged_picture(name_, "its pixel data ends early");
  }

  // Some programs append a little padding, which is accepted. More than that is refused.
  void expect_end() {
    std::vector<std::uint8_t> surplus(std::size_t{64} << 10);
    if (fill(surplus) == surplus.size()) {
      throw damaged_picture(name_, "its pixel data inflates to more than the picture needs");
    }
  }

 private:
  // Returns the number of bytes written. It is less than out.size() only at the end of the data.
  std::size_t fill(std::span<std::uint8_t> out) {
    inflater_->next_out = out.data();
    inflater_->avail_out = static_cast<uInt>(out.size());
    while (!ended_ && inflater_->avail_out > 0) {
      if (inflater_->avail_in == 0) {
        if (next_ == chunks_.pixel_data.size()) break;
        const std::span<const std::uint8_t> more = chunks_.pixel_data[next_++];
        inflater_->next_in = const_cast<Bytef*>(more.data());
        inflater_->avail_in = static_cast<uInt>(more.size());
      }
      const int code = inflate(inflater_.get(), Z_NO_FLUSH);
      ended_ = code == Z_STREAM_END;
      if (ended_ || code == Z_OK || code == Z_BUF_ERROR)
        continue;  // Z_BUF_ERROR asks for more input
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      const char* reason = code == Z_NEED_DICT         ? "it asks for a dictionary"
                           : inflater_->msg != nullptr ? inflater_->msg
                                                       : "unknown kind";
      throw damaged_picture(name_, str("its pixel data cannot be inflated (", reason, ")"));
    }
    return out.size() - inflater_->avail_out;
  }

  const PngChunks& chunks_;
  const std::string& name_;
  Inflater inflater_;
  std::size_t next_ = 0;
  bool ended_ = false;
};

int paeth(int left, int above, int above_left) {
  const int estimate = left + above - above_left;
  const int to_left = std::abs(estimate - left), to_above = std::abs(estimate - above);
  const int to_above_left = std::abs(estimate - above_left);
  if (to_left <= to_above && to_left <= to_above_left) return left;
  return to_above <= to_above_left ? above : above_left;
}

// Undoes the filter of one row in place. Bytes to the left of the row count as 0. `unit` is the
// distance from a byte to the same byte of the previous pixel.
void unfilter(int filter, std::span<std::uint8_t> row, std::span<const std::uint8_t> above,
              std::size_t unit, const std::string& name) {
  const auto add = [&](auto estimate) {
    for (std::size_t i = 0; i < std::min(unit, row.size()); ++i) {
      row[i] = static_cast<std::uint8_t>(row[i] + estimate(0, int{above[i]}, 0));
    }
    for (std::size_t i = unit; i < row.size(); ++i) {
      const int estimated = estimate(int{row[i - unit]}, int{above[i]}, int{above[i - unit]});
      row[i] = static_cast<std::uint8_t>(row[i] + estimated);
    }
  };
  switch (filter) {
    case 0:
      return;
    case 1:
      return add([](int left, int, int) { return left; });
    case 2:
      return add([](int, int up, int) { return up; });
    case 3:
      return add([](int left, int up, int) { return (left + up) / 2; });
    case 4:
      return add(paeth);
    default:
      throw damaged_picture(name, str("a row has filter ", filter, ", expected 0 to 4"));
  }
}

// How many of the 16 bits of a sample are used, for the colours and for alpha.
struct DeepSamples {
  int colour = 0, alpha = 0;
};

// Turns rows of a PNG's own samples into pixels of 8 bits per channel. White and opaque have
// `bits` of 16.
class PixelExpander {
 public:
  PixelExpander(const PngChunks& chunks, const std::string& name, DeepSamples bits)
      : chunks_(chunks), header_(chunks.header), name_(name), bits_(bits) {}

  int channels() const {
    const int transparent = chunks_.has_transparency ? 1 : 0;
    return (header_.colour == PngColour::indexed ? 3 : header_.samples()) + transparent;
  }

  // Writes `count` pixels of `row` to `out`, with `step` bytes from one pixel to the next.
  void expand(std::span<const std::uint8_t> row, std::size_t count, std::uint8_t* out,
              std::size_t step) {
    const auto samples = static_cast<std::size_t>(header_.samples());
    const bool as_they_are = header_.depth == 8 && header_.colour != PngColour::indexed &&
                             !chunks_.has_transparency && step == samples;
    if (as_they_are) {
      std::copy_n(row.data(), count * samples, out);
      return;
    }
    for (std::size_t x = 0; x < count; ++x, out += step) {
      if (header_.colour == PngColour::indexed) {
        look_up(sample(row, x), out);
        continue;
      }
      bool transparent = chunks_.has_transparency;
      for (std::size_t c = 0; c < samples; ++c) {
        const std::uint32_t value = sample(row, x * samples + c);
        transparent = transparent && value == chunks_.transparent_colour[c];
        out[c] = header_.depth == 16 ? deep_to_byte(value, is_alpha(c)) : to_byte(value);
      }
      if (chunks_.has_transparency) out[samples] = transparent ? 0 : 255;
    }
  }

  DeepSamples peaks() const { return peaks_; }  // of the rows until now

 private:
  bool is_alpha(std::size_t channel) const {
    const bool has_alpha =
        header_.colour == PngColour::grey_alpha || header_.colour == PngColour::rgb_alpha;
    return has_alpha && channel + 1 == static_cast<std::size_t>(header_.samples());
  }

  std::uint32_t sample(std::span<const std::uint8_t> row, std::size_t index) const {
    const auto depth = static_cast<std::size_t>(header_.depth);
    if (depth == 8) return row[index];
    if (depth == 16) return static_cast<std::uint32_t>(row[2 * index] << 8 | row[2 * index + 1]);
    const std::size_t bit = index * depth;
    return row[bit / 8] >> (8 - depth - bit % 8) & ((1u << depth) - 1);
  }

  std::uint8_t to_byte(std::uint32_t value) const {
    return static_cast<std::uint8_t>(value * (255 / ((1u << header_.depth) - 1)));
  }

  std::uint8_t deep_to_byte(std::uint32_t value, bool is_alpha) {
    int& peak = is_alpha ? peaks_.alpha : peaks_.colour;
    peak = std::max(peak, static_cast<int>(value));
    const int bits = is_alpha ? bits_.alpha : bits_.colour;
    return byte_of_sample(value, bits);
  }

  void look_up(std::size_t index, std::uint8_t* out) const {
    const std::size_t colours = chunks_.palette.size() / 3;
    if (index >= colours) {
      throw damaged_picture(name_, str("a pixel has colour ", index, " of a palette of ", colours));
    }
    std::copy_n(chunks_.palette.data() + 3 * index, 3, out);
    if (!chunks_.has_transparency) return;
    const std::span<const std::uint8_t> alpha = chunks_.palette_alpha;
    out[3] = index < alpha.size() ? alpha[index] : 255;
  }

  const PngChunks& chunks_;
  const PngHeader& header_;
  const std::string& name_;
  DeepSamples bits_, peaks_;
};

// The pixels of one pass are those of columns x, x + dx, ... in rows y, y + dy, ...
struct Pass {
  std::int64_t x, y, dx, dy;

  std::int64_t width(const PngHeader& header) const { return divide_up(header.width - x, dx); }
  std::int64_t height(const PngHeader& header) const { return divide_up(header.height - y, dy); }
};

std::span<const Pass> passes_of(const PngHeader& header) {
  static constexpr Pass kWhole[] = {{0, 0, 1, 1}};
  static constexpr Pass kAdam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                    {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  if (header.interlaced) return kAdam7;
  return kWhole;
}

// Refuses pixel data that is too short for the picture: deflate makes at most 1032 bytes of one.
void check_length(const PngChunks& chunks, const std::string& name) {
  constexpr std::uint64_t kMostPerByte = 1032;
  const PngHeader& header = chunks.header;
  std::uint64_t needed = 0, there = 0;
  for (const Pass& pass : passes_of(header)) {
    const std::int64_t width = pass.width(header), height = pass.height(header);
    if (width > 0 && height > 0)
      needed += static_cast<std::uint64_t>(height) * (1 + header.row_bytes(width));
  }
  for (const auto& part : chunks.pixel_data) there += part.size();
  if (needed <= kMostPerByte * there) return;
  throw damaged_picture(name, str(header.width, " x ", header.height, " pixels need ", needed,
                                  " bytes, its ", there, " bytes of pixel data cannot hold them"));
}

Picture decode_rows(const PngChunks& chunks, PixelExpander& expander, const std::string& name) {
  const PngHeader& header = chunks.header;
  PixelStream stream(chunks, name);
  Picture picture = make_picture(header.width, header.height, expander.channels(), name);
  const auto channels = static_cast<std::size_t>(picture.channels);
  for (const Pass& pass : passes_of(header)) {
    const std::int64_t width = pass.width(header), height = pass.height(header);
    if (width <= 0 || height <= 0) continue;
    // Each row begins with the number of its filter.
    Bytes row(1 + header.row_bytes(width)), above(row.size());
    for (std::int64_t y = 0; y < height; ++y) {
      stream.read(row);
      unfilter(row[0], std::span(row).subspan(1), std::span(above).subspan(1), header.filter_unit(),
               name);
      const auto first = static_cast<std::size_t>((pass.y + y * pass.dy) * header.width + pass.x);
      expander.expand(std::span(row).subspan(1), static_cast<std::size_t>(width),
                      picture.pixels.get() + first * channels,
                      static_cast<std::size_t>(pass.dx) * channels);
      row.swap(above);
    }
  }
  stream.expect_end();
  return picture;
}

}  // namespace

Picture decode_png(std::span<const std::uint8_t> file, const std::string& name, int sample_bits) {
  const PngChunks chunks = read_png_chunks(file, name);
  check_length(chunks, name);
  PixelExpander expander(chunks, name, {16, 16});
  Picture picture = decode_rows(chunks, expander, name);
  if (chunks.header.depth == 16) {
    const DeepSamples peaks = expander.peaks();
    const SampleDepth depth = depth_of(peaks.colour, chunks.significant_bits, sample_bits);
    if (depth.bits < 16) {  // rare, and known only now: once more
      PixelExpander scaled(chunks, name,
                           {depth.bits, peaks.alpha < 1 << depth.bits ? depth.bits : 16});
      picture = decode_rows(chunks, scaled, name);
    }
    picture.depth = depth;
  }
  return upright(std::move(picture), chunks.orientation, name);
}

}  // namespace weft::data
