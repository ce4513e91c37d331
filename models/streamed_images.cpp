// SPDX-License-Identifier: MIT
#include "models/streamed_images.h"

#include <algorithm>
#include <cstring>

#include "data/files/host_memory.h"

namespace weft::models {

namespace {

std::size_t bytes_of_images(std::int64_t count, const data::ImageSet& set) {
  return static_cast<std::size_t>(count * set.pixels());
}

std::size_t bytes_of_labels(std::int64_t count) {
  return static_cast<std::size_t>(count) * sizeof(std::int32_t);
}

}  // namespace

bool streams_images(std::uint64_t bytes, std::uint64_t limit, Device device) {
  if (limit > 0) return bytes > limit;
  if (device.is_cpu()) return bytes > data::host_data_limit(bytes);
  const std::size_t memory = device.is_cuda() ? device_properties(device).memory_bytes : 0;
  return memory > 0 && bytes > memory / 2;
}

StreamedImages::StreamedImages(const data::ImageSet& set, const kernels::BatchOrder& order,
                               Tensor& images, Tensor& labels, const Stream& stream)
    : set_(set),
      order_(order),
      images_(images),
      labels_(labels),
      branch_(stream),
      side_(&branch_.fork()),
      pixels_(bytes_of_images(order.batch, set), stream.device()),
      classes_(bytes_of_labels(order.batch), stream.device()) {
  // A step may run once, to be recorded, before any image is here: it must find valid labels.
  if (order.shuffle) set.images.is_read_at_random();
  zero_bytes(images_.raw(), images_.bytes(), stream);
  zero_bytes(labels_.raw(), labels_.bytes(), stream);
}

StreamedImages::~StreamedImages() {
  try {
    side_->synchronize();  // a copy may be under way
  } catch (const Error&) {
    // Whoever uses the device next hears of it.
  }
}

void StreamedImages::seek(std::int64_t step) {
  step_ = step;
}

void StreamedImages::begin() {
  if (brought_ != step_) {
    branch_.join();
    side_ = &branch_.fork();
    bring(step_);
  }
  branch_.join();
  side_ = &branch_.fork();  // which waits for the steps before this one, not for this one
}

void StreamedImages::end() {
  bring(++step_);
}

void StreamedImages::bring(std::int64_t step) {
  const std::int64_t position = step % order_.steps * order_.batch;
  const std::int64_t rows = std::min(order_.batch, order_.count - position);
  const std::size_t pixels = bytes_of_images(1, set_);
  side_->synchronize();  // the pinned memory may still be on its way
  auto* images = static_cast<std::uint8_t*>(pixels_.data());
  auto* labels = static_cast<std::int32_t*>(classes_.data());
  for (std::int64_t row = 0; set_.images.in_file() && row < rows; ++row) {
    const auto index = static_cast<std::size_t>(kernels::batch_index(row, step, order_));
    set_.images.is_read_soon(index * pixels, pixels);
  }
  constexpr std::size_t kBytesForThreads = std::size_t{1} << 20;
#pragma omp parallel for schedule(static) if (bytes_of_images(rows, set_) >= kBytesForThreads)
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto index = static_cast<std::size_t>(kernels::batch_index(row, step, order_));
    std::memcpy(images + static_cast<std::size_t>(row) * pixels, &set_.images[index * pixels],
                pixels);
    labels[row] = set_.labels[index];
  }
  const std::int64_t place = step % kSlots * order_.batch;
  const Device device = side_->device();
  copy_bytes(images_.data<std::uint8_t>() + place * set_.pixels(), device, images, Device::cpu(),
             bytes_of_images(rows, set_), *side_);
  copy_bytes(labels_.data<std::int32_t>() + place, device, labels, Device::cpu(),
             bytes_of_labels(rows), *side_);
  brought_ = step;
}

}  // namespace weft::models
