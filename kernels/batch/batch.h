// SPDX-License-Identifier: MIT
// Gathers a batch of byte images: shuffles, augments and normalises on the device.
//
// Image i of the batch is dataset image s, where with position = (*step % steps) * batch + i
//   s = shuffle ? permuted_index(position, count, key of (seed, *step / steps)) : position
// so the epoch and the place in it follow from the step counter alone. Pixel bytes become
// (byte / 255 - mean) / stddev; what augmentation pulls in from outside is background (byte 0).
//
// Augmentation draws, per image and epoch, from philox(seed, RandomStream::augmentation, epoch, s):
// a rotation, a log scale, a shear and a shift, each uniform in +- its limit, applied about the
// image centre with bilinear sampling. All limits 0 copies pixels exactly.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

struct BatchOrder {
  std::int64_t count = 0;  // images in the data set
  std::int64_t steps = 1;  // steps in an epoch
  std::int64_t batch = 0;  // images in a full batch; a tail batch writes fewer rows
  bool shuffle = false;
  std::uint64_t seed = 0;
};

struct Augmentation {
  float rotate_degrees = 0;  // +- limit
  float scale = 0;           // +- limit of the relative size: 0.1 is 0.9 to 1.1
  float shear = 0;           // +- limit, horizontal pixels per vertical pixel
  float shift = 0;           // +- limit, pixels, both axes
  bool any() const { return rotate_degrees != 0 || scale != 0 || shear != 0 || shift != 0; }
};

struct Normalization {
  float mean = 0;
  float stddev = 1;
};

// Rows past the end of the data set (position >= count) must not be asked for: Error{usage} when
// rows > batch. `indices`, when not null, gets the dataset index of each row.
void gather_batch(float* x,                          // (rows, height * width), normalised
                  std::int32_t* labels,              // (rows,) or null
                  std::int64_t* indices,             // (rows,) or null
                  const std::uint8_t* images,        // (count, height, width)
                  const std::uint8_t* image_labels,  // (count,) or null
                  std::int64_t rows, std::int64_t height, std::int64_t width,
                  const std::int64_t* step, const BatchOrder& order,
                  const Augmentation& augmentation, const Normalization& normalization,
                  const Stream& stream);

Rungs batch_rungs();

}  // namespace weft::kernels
