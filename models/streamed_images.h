// SPDX-License-Identifier: MIT
// A data set that stays in host memory, or in a file, and comes to the device batch by batch.
//
// The device has room for two batches. While a step runs on one of them, the host collects the
// images of the next step and copies them to the other on a second stream. The order is that of
// kernels::gather_batch(), so a batch has the same bits as with the whole set on the device.
#pragma once

#include <cstdint>

#include "data/sets/dataset.h"
#include "engine/stream.h"
#include "engine/tensor.h"
#include "kernels/batch/batch.h"

namespace weft::models {

// Do image sets of so many bytes stay in host memory, or in a file of the host? With limit > 0 when
// they are larger. With 0 when they are larger than half the memory of a GPU: weights and
// activations need room too. On the CPU, whose memory is the host's, when a copy of them would not
// stay in memory (data::host_data_limit()).
bool streams_images(std::uint64_t bytes, std::uint64_t limit, Device device);

class StreamedImages {
 public:
  static constexpr std::int64_t kSlots = 2;

  // The first order.count images of `set`, which must outlive this object. The room is `images`,
  // (kSlots * order.batch, channels, height, width), u8, and `labels`, (kSlots * order.batch,),
  // i32, both on the stream's device. order.staged_steps must be kSlots.
  StreamedImages(const data::ImageSet& set, const kernels::BatchOrder& order, Tensor& images,
                 Tensor& labels, const Stream& stream);
  StreamedImages(const StreamedImages&) = delete;
  StreamedImages& operator=(const StreamedImages&) = delete;
  ~StreamedImages();

  // The step that comes next. Starts at 0.
  void seek(std::int64_t step);
  // Work that is queued on the stream between these two finds the images of the next step. end()
  // brings those of the step after it, while that work runs. A begin() without an end() has no
  // effect on later ones.
  void begin();
  void end();

 private:
  void bring(std::int64_t step);  // to the device, behind all that fork() waits for

  const data::ImageSet& set_;
  kernels::BatchOrder order_;
  Tensor& images_;
  Tensor& labels_;
  Branch branch_;
  const Stream* side_;  // of the branch, since the last fork()
  std::int64_t step_ = 0;
  std::int64_t brought_ = -1;  // the last step whose images were brought, or -1
  PinnedBuffer pixels_;        // of one batch
  PinnedBuffer classes_;       // its labels
};

}  // namespace weft::models
