// SPDX-License-Identifier: MIT
// The table of the rungs of the image kernels, and the validation and dispatch of a call.
#include "kernels/image/image.h"

#include <algorithm>
#include <string>

#include "engine/error.h"
#include "engine/extent.h"
#include "kernels/checks.h"
#include "kernels/image/cpu/table.h"
#include "kernels/image/launchers.h"

namespace weft::kernels {
namespace cuda {

constexpr std::string_view kOperations[] = {"rgb_to_grey", "box_blur"};

struct ImageRow {
  using Problem = ImageOperation;

  Rung rung;
  Launcher<GreyLauncher> grey = {};
  Launcher<BlurLauncher> blur = {};
  bool running_sums = false;  // on a CPU, instead of the sums as written

  constexpr bool complete() const {
    const bool greys = rung.operation == kOperations[0], blurs = rung.operation == kOperations[1];
    return greys != blurs && static_cast<bool>(grey) == (greys && rung.on_cuda) &&
           static_cast<bool>(blur) == (blurs && rung.on_cuda) && grey.belongs_to("", rung.name) &&
           blur.belongs_to("", rung.name);
  }
  std::string takes(ImageOperation asked, Device) const {
    return other_operation(rung, kOperations[static_cast<int>(asked)]);
  }
};

constexpr ImageRow kImageRows[] = {
    {.rung = {.name = "rgb_to_grey_naive",
              .summary = "one thread per pixel, three loads of a byte each",
              .prefer = "on a CPU, and to read first",
              .operation = "rgb_to_grey",
              .on_cpu = true},
     .grey = WEFT_LAUNCHER(GreyLauncher, rgb_to_grey_naive)},
    {.rung = {.name = "rgb_to_grey_vectorized",
              .summary = "16 pixels per thread: three loads and one store of 16 bytes",
              .prefer = "on a GPU",
              .operation = "rgb_to_grey"},
     .grey = WEFT_LAUNCHER(GreyLauncher, rgb_to_grey_vectorized)},
    {.rung = {.name = "box_blur_naive",
              .summary = "one thread per output adds up its whole window from memory",
              .prefer = "to check a result, or to read first",
              .operation = "box_blur",
              .on_cpu = true},
     .blur = WEFT_LAUNCHER(BlurLauncher, box_blur_naive)},
    {.rung = {.name = "box_blur_tiled",
              .summary = "a block loads patches with their halo into shared memory and adds from "
                         "there",
              .prefer = "on a GPU",
              .operation = "box_blur",
              .padded = {68, 4}},
     .blur = WEFT_LAUNCHER(BlurLauncher, box_blur_tiled)},
    {.rung = {.name = "box_blur_running_sums",
              .summary = "sums of columns move down and sums of windows move right: work per pixel "
                         "does not depend on the radius",
              .prefer = "on a CPU",
              .operation = "box_blur",
              .on_cpu = true,
              .on_cuda = false},
     .running_sums = true},
};

}  // namespace cuda

namespace {

Choice automatic(const ImageOperation& operation, Device device) {
  if (operation == ImageOperation::rgb_to_grey) {
    if (device.is_cpu()) return {"rgb_to_grey_naive", "the one on a CPU"};
    return {"rgb_to_grey_vectorized", "loads of 16 bytes"};
  }
  if (device.is_cpu()) return {"box_blur_running_sums", "the same work for any radius"};
  return {"box_blur_tiled", "pixels are loaded once per block"};
}

constexpr Ladder kLadder("image", cuda::kImageRows, automatic);

}  // namespace

void rgb_to_grey(std::uint8_t* grey, const std::uint8_t* rgb, std::int64_t pixels,
                 std::string_view variant, const Stream& stream) {
  const cuda::ImageRow& row = kLadder.select(variant, ImageOperation::rgb_to_grey, stream.device());
  const std::int64_t bytes = checked_elements("rgb_to_grey", {pixels, 3});
  if (bytes == 0) return;
  check_call("rgb_to_grey", stream, {writes("grey", grey, pixels), reads("rgb", rgb, bytes)});
  if (stream.device().is_cpu()) return select_image_cpu().rgb_to_grey(grey, rgb, pixels);
  row.grey.run(grey, rgb, pixels, stream);
}

void box_blur(std::uint8_t* y, const std::uint8_t* x, const ImageDims& dims, std::int64_t radius,
              std::string_view variant, const Stream& stream) {
  const cuda::ImageRow& row = kLadder.select(variant, ImageOperation::box_blur, stream.device());
  if (radius < 0) throw Error(ErrorKind::usage, str("box_blur: negative radius ", radius));
  constexpr std::int64_t kMaxExtent = 1 << 24;  // sums of a row or column fit 32 bits
  if (dims.height > kMaxExtent || dims.width > kMaxExtent) {
    throw Error(ErrorKind::usage, str("box_blur: at most ", kMaxExtent, " rows and columns, found ",
                                      dims.height, " x ", dims.width));
  }
  const std::int64_t n = checked_elements("box_blur", {dims.height, dims.width, dims.channels});
  if (n == 0) return;
  check_call("box_blur", stream, {writes("y", y, n), reads("x", x, n)});
  // A window that covers the whole image from every pixel: more makes no difference.
  radius = std::min(radius, std::max(dims.height, dims.width));
  if (stream.device().is_cuda()) return row.blur.run(y, x, dims, radius, stream);
  if (!row.running_sums) return select_image_cpu().box_blur_naive(y, x, dims, radius);
  const std::int64_t strips = divide_up(dims.height, kBlurStrip);
  const Buffer sums(
      sizeof(std::uint32_t) * static_cast<std::size_t>(strips * dims.width * dims.channels),
      stream);
  select_image_cpu().box_blur_running_sums(y, x, dims, radius,
                                           static_cast<std::uint32_t*>(sums.data()));
}

std::optional<ImageOperation> image_operation(std::string_view rung) {
  return operation_of<ImageOperation>(image_rungs().find(rung), cuda::kOperations);
}

Rungs image_rungs() {
  return kLadder.rungs();
}

bool image_takes(std::string_view variant, ImageOperation operation, Device device) {
  check_enumerator("image_takes", "operation", operation, ImageOperation::box_blur);
  return kLadder.takes(variant, operation, device);
}

}  // namespace weft::kernels
