// SPDX-License-Identifier: MIT
// The table of the rungs of a batch, and the validation and dispatch of a call.
#include "kernels/batch/batch.h"

#include <limits>
#include <optional>
#include <string>

#include "kernels/batch/cpu/table.h"
#include "kernels/checks.h"

namespace weft::kernels {
namespace cuda {

using GatherLauncher = void(float* x, std::int32_t* labels, std::int64_t* indices,
                            const std::uint8_t* images, const std::int32_t* image_labels,
                            std::int64_t rows, const BatchDims& dims, const std::int64_t* step,
                            const BatchOrder& order, const Augmentation& augmentation,
                            std::span<const Normalization> normalization, const Stream& stream);

struct BatchRow {
  struct Problem {};

  Rung rung;
  std::optional<const BatchCpu& (*)()> cpu = {};
  Launcher<GatherLauncher> launcher = {};

  constexpr bool complete() const {
    return rung.on_cpu == cpu.has_value() && launcher.there_if(rung, "batch_");
  }
  std::string takes(const Problem&, Device) const { return ""; }
};

constexpr BatchRow kBatchRows[] = {
    {.rung = {.name = "gather",
              .summary = "one block per row: one thread draws the place and the distortion, all "
                         "threads sample",
              .prefer = "always",
              .on_cpu = true},
     .cpu = select_batch_cpu,
     .launcher = WEFT_LAUNCHER(GatherLauncher, batch_gather)},
};

}  // namespace cuda

namespace {

constexpr Ladder kLadder("batch", cuda::kBatchRows);

void check(const BatchOrder& order) {
  if (order.count >= 1 && order.steps >= 1) return;
  throw Error(ErrorKind::usage,
              str("gather_batch: no rows in ", order.count, " images and ", order.steps, " steps"));
}

void check(const std::int32_t* labels, const std::int32_t* image_labels, std::int64_t rows,
           const BatchDims& dims, const BatchOrder& order, const Augmentation& augmentation,
           std::span<const Normalization> normalization) {
  if (dims.channels > kMaxImageChannels || std::ssize(normalization) != dims.channels) {
    throw Error(ErrorKind::usage,
                str("gather_batch: 1 to ", kMaxImageChannels, " channels expected, each with its ",
                    "mean and deviation; found ", dims.channels, " and ", normalization.size()));
  }
  if (dims.plane() > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorKind::usage, str("gather_batch: images of ", dims.height, " x ", dims.width,
                                      " pixels are too large, a channel may have 2^31 - 1"));
  }
  if (!order.holds(rows)) {
    throw Error(ErrorKind::usage, str("gather_batch: ", rows, " rows from row ", order.first,
                                      " asked for, but a batch has ", order.batch));
  }
  check(order);
  if (labels != nullptr && image_labels == nullptr) {
    throw Error(
        ErrorKind::usage,
        "gather_batch: labels wanted from a data set without labels (image_labels is null)");
  }
  for (const float limit : {augmentation.rotate_degrees, augmentation.scale, augmentation.shear,
                            augmentation.shift, augmentation.brightness, augmentation.contrast}) {
    if (!(limit >= 0 && limit <= 1e4f)) {
      throw Error(ErrorKind::usage,
                  str("gather_batch: augmentation limits must be in [0, 10000], found ", limit));
    }
  }
  for (const std::int32_t side : {augmentation.crop, augmentation.cutout}) {
    if (side < 0 || side > Augmentation::kMaxCrop) {
      throw Error(ErrorKind::usage, str("gather_batch: crop and cutout must be in [0, ",
                                        Augmentation::kMaxCrop, "], found ", side));
    }
  }
  for (const Normalization& channel : normalization) {
    check_finite("gather_batch", "mean", channel.mean);
    check_finite("gather_batch", "standard deviation", channel.stddev);
    if (channel.stddev > 0) continue;
    throw Error(ErrorKind::usage,
                str("gather_batch: standard deviation must be positive, found ", channel.stddev));
  }
}

}  // namespace

void gather_batch(float* x, std::int32_t* labels, std::int64_t* indices, const std::uint8_t* images,
                  const std::int32_t* image_labels, std::int64_t rows, const BatchDims& dims,
                  const std::int64_t* step, const BatchOrder& order,
                  const Augmentation& augmentation, std::span<const Normalization> normalization,
                  std::string_view variant, const Stream& stream) {
  const auto& row = kLadder.select(variant, {}, stream.device());
  const auto [channels, height, width] = dims;
  const std::int64_t elements = checked_elements("gather_batch", {rows, channels, height, width});
  if (elements == 0) return;
  check(labels, image_labels, rows, dims, order, augmentation, normalization);
  static_cast<void>(checked_elements("gather_batch", {order.count, channels, height, width}));
  static_cast<void>(checked_elements("gather_batch", {order.steps, order.batch}));
  const std::int64_t held =
      order.staged_steps > 0 ? checked_elements("gather_batch", {order.staged_steps, order.batch})
                             : order.count;
  const std::int64_t bytes = checked_elements("gather_batch", {held, dims.pixels()});
  check_call("gather_batch", stream,
             {writes("x", x, elements), writes("labels", labels, rows).or_null(),
              writes("indices", indices, rows).or_null(), reads("images", images, bytes),
              reads("image_labels", image_labels, held).or_null(), reads("step", step, 1)});
  if (stream.device().is_cpu()) {
    return (*row.cpu)().gather_batch(x, labels, indices, images, image_labels, rows, dims, step,
                                     order, augmentation, draw::lines_of(normalization));
  }
  row.launcher.run(x, labels, indices, images, image_labels, rows, dims, step, order, augmentation,
                   normalization, stream);
}

std::array<float, 256> normalized_bytes(const Normalization& channel) {
  std::array<float, 256> values{};
  for (std::size_t byte = 0; byte < values.size(); ++byte) {
    values[byte] = draw::normalized(static_cast<float>(byte), draw::line_of(channel));
  }
  return values;
}

std::int64_t batch_index(std::int64_t row, std::int64_t step, const BatchOrder& order) {
  check(order);
  return draw::place_of(row, step, order).index;
}

Rungs batch_rungs() {
  return kLadder.rungs();
}

}  // namespace weft::kernels
