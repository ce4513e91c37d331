// SPDX-License-Identifier: MIT
// Draws the order of the images and their distortions. These are pure functions of seed, epoch and
// position. CPU and GPU compile this one text, so both train on the same batches.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/random.h"
#include "kernels/batch/batch.h"
#include "kernels/isa.h"

namespace weft::kernels::draw {
inline namespace WEFT_ISA {

struct Place {
  std::int64_t epoch;
  std::int64_t index;  // of the image in the data set
};

// The image of row `row` of a share of the batch at training step `step`. A position past the end
// wraps around, so that no step reads outside the data set.
WEFT_HOST_DEVICE inline Place place_of(std::int64_t row, std::int64_t step,
                                       const BatchOrder& order) {
  const std::int64_t epoch = step / order.steps;
  std::int64_t position = (step % order.steps) * order.batch + order.first + row;
  if (position >= order.count) position %= order.count;
  if (!order.shuffle) return {epoch, position};
  const Random4 bits =
      philox(order.seed, RandomStream::shuffle, 0, static_cast<std::uint64_t>(epoch));
  const std::uint64_t key = bits.value[0] | static_cast<std::uint64_t>(bits.value[1]) << 32;
  return {epoch, permuted_index(position, order.count, key)};
}

// Where the pixels of a row are: those of image `index`, or those that were staged for it.
WEFT_HOST_DEVICE inline std::int64_t source_of(std::int64_t index, std::int64_t row,
                                               std::int64_t step, const BatchOrder& order) {
  if (order.staged_steps == 0) return index;
  return step % order.staged_steps * order.batch + order.first + row;
}

// Maps an output pixel (column j, row i) to the point of the image that it shows.
struct Affine {
  float x0, xj, xi;  // column = x0 + xj j + xi i
  float y0, yj, yi;  // row    = y0 + yj j + yi i
};

// Uniform in [-limit, limit) from the upper bits of a random word.
WEFT_HOST_DEVICE inline float symmetric(std::uint32_t bits, float limit) {
  return limit * (2.0f * uniform01(bits) - 1.0f);
}

// Rotation, size and shear take a word each, the two shifts share the fourth.
WEFT_HOST_DEVICE inline Affine affine_of(const Place& place, std::uint64_t seed,
                                         const Augmentation& limits, std::int64_t height,
                                         std::int64_t width) {
  const Random4 bits =
      philox(seed, RandomStream::augmentation, static_cast<std::uint32_t>(place.epoch),
             static_cast<std::uint64_t>(place.index));
  constexpr float kRadians = 0.017453292519943295f;
  const float angle = symmetric(bits.value[0], limits.rotate_degrees * kRadians);
  const float inverse_size = expf(-symmetric(bits.value[1], limits.scale));
  const float shear = symmetric(bits.value[2], limits.shear);
  const float shift_x = symmetric(bits.value[3] & 0xffff0000u, limits.shift);
  const float shift_y = symmetric(bits.value[3] << 16, limits.shift);
  // sinf, cosf and expf are within 2 units in the last place in every library in use.
  const float cosine = cosf(angle) * inverse_size, sine = sinf(angle) * inverse_size;
  const float center_x = 0.5f * static_cast<float>(width - 1);
  const float center_y = 0.5f * static_cast<float>(height - 1);
  Affine map;
  map.xj = cosine;
  map.xi = cosine * shear - sine;
  map.yj = sine;
  map.yi = sine * shear + cosine;
  map.x0 = center_x - map.xj * (center_x + shift_x) - map.xi * (center_y + shift_y);
  map.y0 = center_y - map.yj * (center_x + shift_x) - map.yi * (center_y + shift_y);
  return map;
}

struct Line {
  float slope, offset;
};
struct Lines {
  Line of[kMaxImageChannels];
};

inline Line line_of(const Normalization& normalization) {
  const double mean = static_cast<double>(normalization.mean);
  const double stddev = static_cast<double>(normalization.stddev);
  return {static_cast<float>(1 / (255 * stddev)), static_cast<float>(-mean / stddev)};
}

inline Lines lines_of(std::span<const Normalization> normalization) {
  Lines lines{};
  for (std::size_t c = 0; c < normalization.size(); ++c) lines.of[c] = line_of(normalization[c]);
  return lines;
}

// A pixel as a network reads it, wherever it is read. One rounding, and fused by name, so that it
// has the same bits on every device. In double it is an oracle.
WEFT_HOST_DEVICE inline float normalized(float byte, Line line) {
  return fmaf(line.slope, byte, line.offset);
}
inline double normalized(double byte, Line line) {
  return static_cast<double>(line.slope) * byte + static_cast<double>(line.offset);
}

// All that happens to one image in an epoch.
struct Distortion {
  bool warped, flipped;
  Affine map;                       // when warped
  int crop_x, crop_y;               // from a pixel of the batch to one of the image
  int cut_left, cut_top, cut_side;  // the square of cutout
  Lines lines;                      // with contrast and brightness

  // The pixel of the image, before the map, that stands at column j and row i of the batch.
  WEFT_HOST_DEVICE int column(int j, int width) const {
    return (flipped ? width - 1 - j : j) + crop_x;
  }
  WEFT_HOST_DEVICE int row(int i) const { return i + crop_y; }
  WEFT_HOST_DEVICE bool cuts(int i, int j) const {
    return i >= cut_top && i < cut_top + cut_side && j >= cut_left && j < cut_left + cut_side;
  }
};

// Uniform in [0, n) from 16 random bits; n is at most 65536.
WEFT_HOST_DEVICE inline int below(std::uint32_t bits, int n) {
  return static_cast<int>((bits & 0xffffu) * static_cast<std::uint32_t>(n) >> 16);
}

// Brightness and contrast take the upper bits of a word each, the flip takes the lowest bit of the
// first; the places of window and square take half a word for each axis.
WEFT_HOST_DEVICE inline void draw_distortion(Distortion& d, const Place& place, std::uint64_t seed,
                                             const Augmentation& limits, const Lines& lines,
                                             int height, int width) {
  constexpr std::uint64_t kSecondDraw = std::uint64_t{1} << 63;
  const Random4 bits =
      philox(seed, RandomStream::augmentation, static_cast<std::uint32_t>(place.epoch),
             static_cast<std::uint64_t>(place.index) + kSecondDraw);
  d.warped = limits.warps();
  d.map = d.warped ? affine_of(place, seed, limits, height, width) : Affine{};
  d.flipped = limits.flip && (bits.value[0] & 1) != 0;
  d.crop_x = below(bits.value[2] >> 16, 2 * limits.crop + 1) - limits.crop;
  d.crop_y = below(bits.value[2], 2 * limits.crop + 1) - limits.crop;
  d.cut_side = limits.cutout;
  d.cut_left = below(bits.value[3] >> 16, width) - limits.cutout / 2;
  d.cut_top = below(bits.value[3], height) - limits.cutout / 2;
  // x = gain (slope byte + offset) + lift slope. Fused by name, so that no compiler chooses where
  // to round: the same bits everywhere.
  const float lift = symmetric(bits.value[0], 255 * limits.brightness);
  const float gain = fmaf(limits.contrast, symmetric(bits.value[1], 1), 1.0f);
  for (int c = 0; c < kMaxImageChannels; ++c) {
    const Line line = lines.of[c];
    d.lines.of[c] = {gain * line.slope, fmaf(gain, line.offset, lift * line.slope)};
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::draw
