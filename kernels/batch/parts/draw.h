// SPDX-License-Identifier: MIT
// Which image goes where, and how it is distorted: pure functions of seed, epoch and position,
// compiled for the CPU and for the GPU from this one text so that both train on the same batches.
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

// The image of row `row` at training step `step`. A position past the end wraps around, so that no
// step reads outside the data set.
WEFT_HOST_DEVICE inline Place place_of(std::int64_t row, std::int64_t step,
                                       const BatchOrder& order) {
  const std::int64_t epoch = step / order.steps;
  std::int64_t position = (step % order.steps) * order.batch + row;
  if (position >= order.count) position %= order.count;
  if (!order.shuffle) return {epoch, position};
  const Random4 bits =
      philox(order.seed, RandomStream::shuffle, 0, static_cast<std::uint64_t>(epoch));
  const std::uint64_t key = bits.value[0] | static_cast<std::uint64_t>(bits.value[1]) << 32;
  return {epoch, permuted_index(position, order.count, key)};
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

// A pixel becomes fma(slope, byte, offset): one rounding, so the same bits on every device.
struct Line {
  float slope, offset;
};

inline Line line_of(const Normalization& normalization) {
  const double mean = static_cast<double>(normalization.mean);
  const double stddev = static_cast<double>(normalization.stddev);
  return {static_cast<float>(1 / (255 * stddev)), static_cast<float>(-mean / stddev)};
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::draw
