// SPDX-License-Identifier: MIT
// Gathers a batch of byte images: shuffles, augments and normalises on the device.
//
// Image i of the rows is dataset image s, where with position = (*step % steps) * batch + first + i
//   s = shuffle ? permuted_index(position, count, key of (seed, *step / steps)) : position
// so the epoch and the place in it follow from the step counter alone. A set that is too large for
// the device stays in host memory. Then the rows of a few steps are staged on the device, and the
// batch has the same bits as with the whole set there. Pixel bytes become
// (byte / 255 - mean) / stddev with the numbers of their channel; what augmentation pulls in from
// outside is background (byte 0).
//
// Augmentation draws, per image and epoch, the same for all channels:
//   warp        a rotation, a log scale, a shear and a shift, each uniform in +- its limit, applied
//               about the image centre with bilinear sampling. It draws from
//               philox(seed, RandomStream::augmentation, epoch, s).
//   flip        left and right change places in every other image.
//   crop        the image is padded by `crop` pixels of background on each side, and a window of
//               its own size is cut out of it, every place being as likely.
//   contrast    the distance of a pixel from its channel's mean is multiplied by 1 + c.
//   brightness  b is added to byte / 255. Neither is clamped to what a byte can hold.
//   cutout      a square of `cutout` pixels a side, its centre anywhere in the image, is set to the
//               mean, which is 0 behind the normalisation. Source: DeVries and Taylor, Improved
//               Regularization of Convolutional Neural Networks with Cutout, 2017.
// c and b are uniform in +- their limits. These five draw from the same function at s + 2^63. The
// order, from the data set to the batch, is warp, crop, flip, contrast and brightness, cutout.
// Without a limit above 0 pixels are copied exactly; without a warp they have the same bits on
// every device.
#pragma once

#include <array>
#include <span>

#include "engine/extent.h"
#include "kernels/ladder.h"

namespace weft::kernels {

inline constexpr int kMaxImageChannels = 4;

// The extents of one image of the data set. A channel has fewer than 2^31 pixels.
struct BatchDims {
  std::int64_t channels = 1, height = 0, width = 0;

  std::int64_t plane() const { return height * width; }
  std::int64_t pixels() const { return channels * plane(); }
};

struct BatchOrder {
  std::int64_t count = 0;  // images in the data set
  std::int64_t steps = 1;  // steps in an epoch
  std::int64_t batch = 0;  // images in a full batch; a tail batch writes fewer rows
  bool shuffle = false;
  std::uint64_t seed = 0;
  std::int64_t first = 0;  // row of the batch at which this share of it starts
  // > 0: `images` and `image_labels` hold the rows of this many steps instead of the data set. Row
  // i of a step stands at (*step % staged_steps) * batch + first + i.
  std::int64_t staged_steps = 0;

  bool holds(std::int64_t rows) const {
    return first >= 0 && first <= batch && rows <= batch - first;
  }
};

struct Augmentation {
  float rotate_degrees = 0;  // +- limit
  float scale = 0;           // +- limit of the relative size: 0.1 is 0.9 to 1.1
  float shear = 0;           // +- limit, horizontal pixels per vertical pixel
  float shift = 0;           // +- limit, pixels, both axes
  bool flip = false;
  std::int32_t crop = 0;    // pixels of padding on each side, at most kMaxCrop
  float brightness = 0;     // +- limit, of 1 from black to white
  float contrast = 0;       // +- limit of the relative contrast: 0.2 is 0.8 to 1.2
  std::int32_t cutout = 0;  // pixels a side, at most kMaxCrop

  static constexpr std::int32_t kMaxCrop = 1024;

  WEFT_HOST_DEVICE bool warps() const {
    return rotate_degrees != 0 || scale != 0 || shear != 0 || shift != 0;
  }
  bool edits() const {
    return flip || crop != 0 || brightness != 0 || contrast != 0 || cutout != 0;
  }
  bool any() const { return warps() || edits(); }
};

// One channel's values become (value - mean) / stddev.
struct Normalization {
  float mean = 0;
  float stddev = 1;
};

// Rows past the end of the data set (position >= count) must not be asked for: Error{usage} when
// first + rows > batch or first < 0. `indices`, when not null, gets the dataset index of each row.
// There are 1 to kMaxImageChannels channels.
void gather_batch(float* x,               // (rows, channels, height, width), normalised
                  std::int32_t* labels,   // (rows,) or null
                  std::int64_t* indices,  // (rows,) or null
                  // (count or staged_steps * batch, channels, height, width)
                  const std::uint8_t* images,
                  const std::int32_t* image_labels,  // (count or staged_steps * batch,) or null
                  std::int64_t rows, const BatchDims& dims, const std::int64_t* step,
                  const BatchOrder& order, const Augmentation& augmentation,
                  std::span<const Normalization> normalization,  // (channels,)
                  std::string_view variant, const Stream& stream);
// The same, by the rung that `automatic` takes.
inline void gather_batch(float* x, std::int32_t* labels, std::int64_t* indices,
                         const std::uint8_t* images, const std::int32_t* image_labels,
                         std::int64_t rows, const BatchDims& dims, const std::int64_t* step,
                         const BatchOrder& order, const Augmentation& augmentation,
                         std::span<const Normalization> normalization, const Stream& stream) {
  gather_batch(x, labels, indices, images, image_labels, rows, dims, step, order, augmentation,
               normalization, kAutomatic, stream);
}

// What each byte becomes, with the bits of gather_batch(), for a reader of single images.
std::array<float, 256> normalized_bytes(const Normalization& channel);

// The dataset index of a row of a step. Error{usage} unless order.count and order.steps are >= 1.
std::int64_t batch_index(std::int64_t row, std::int64_t step, const BatchOrder& order);

Rungs batch_rungs();

}  // namespace weft::kernels
