// SPDX-License-Identifier: MIT
// Validation, the tables of variants and dispatch of the image kernels.
#include "kernels/image/image.h"

#include <algorithm>
#include <array>
#include <string>

#include "engine/error.h"
#include "kernels/checks.h"
#include "kernels/image/cpu_table.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/image/cuda.h"
#endif

namespace weft::kernels {
namespace {

struct Row {
  ImageVariant variant;
  VariantInfo info;
};

constexpr std::array<Row, 2> kGreyRows{{
    {ImageVariant::naive,
     {.name = "naive",
      .summary = "one thread per pixel, three loads of a byte each",
      .on_cpu = true,
      .on_cuda = true}},
    {ImageVariant::vectorized,
     {.name = "vectorized",
      .summary = "16 pixels per thread: three loads and one store of 16 bytes",
      .on_cuda = true}},
}};

constexpr std::array<Row, 3> kBlurRows{{
    {ImageVariant::naive,
     {.name = "naive",
      .summary = "one thread per output adds up its whole window from memory",
      .on_cpu = true,
      .on_cuda = true}},
    {ImageVariant::tiled,
     {.name = "tiled",
      .summary = "a block loads patches with their halo into shared memory and adds from there",
      .on_cuda = true}},
    {ImageVariant::running_sums,
     {.name = "running_sums",
      .summary = "sums of columns move down and sums of windows move right: work per pixel does "
                 "not depend on the radius",
      .on_cpu = true}},
}};

template <std::size_t kCount>
constexpr std::array<VariantInfo, kCount> infos_of(const std::array<Row, kCount>& rows) {
  std::array<VariantInfo, kCount> infos{};
  for (std::size_t i = 0; i < kCount; ++i) infos[i] = rows[i].info;
  return infos;
}

constexpr auto kGreyInfos = infos_of(kGreyRows);
constexpr auto kBlurInfos = infos_of(kBlurRows);

// Both operations in one table, under their full names.
constexpr auto kAllInfos = [] {
  constexpr std::array<std::string_view, 5> kNames = {"rgb_to_grey_naive", "rgb_to_grey_vectorized",
                                                      "box_blur_naive", "box_blur_tiled",
                                                      "box_blur_running_sums"};
  std::array<VariantInfo, kNames.size()> infos{};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    infos[i] = i < kGreyInfos.size() ? kGreyInfos[i] : kBlurInfos[i - kGreyInfos.size()];
    infos[i].name = kNames[i];
  }
  return infos;
}();

void check_runs(std::string_view operation, std::span<const Row> rows, ImageVariant variant,
                Device device) {
  for (const auto& [row, info] : rows) {
    if (row != variant) continue;
    if (device.is_cpu() ? info.on_cpu : info.on_cuda) return;
    throw Error(ErrorKind::usage,
                str(operation, " variant ", info.name, " does not run on ", device));
  }
  throw Error(ErrorKind::usage, str(operation, ": no such variant"));
}

}  // namespace

void rgb_to_grey(std::uint8_t* grey, const std::uint8_t* rgb, std::int64_t pixels,
                 ImageVariant variant, const Stream& stream) {
  const Device device = stream.device();
  if (variant == ImageVariant::automatic) {
    variant = device.is_cuda() ? ImageVariant::vectorized : ImageVariant::naive;
  }
  check_runs("rgb_to_grey", kGreyRows, variant, device);
  if (checked_elements("rgb_to_grey", {pixels, 3}) == 0) return;
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) {
    return variant == ImageVariant::naive ? cuda::rgb_to_grey_naive(grey, rgb, pixels, stream)
                                          : cuda::rgb_to_grey_vectorized(grey, rgb, pixels, stream);
  }
#endif
  select_image_cpu().rgb_to_grey(grey, rgb, pixels);
}

void box_blur(std::uint8_t* y, const std::uint8_t* x, const ImageDims& dims, std::int64_t radius,
              ImageVariant variant, const Stream& stream) {
  const Device device = stream.device();
  if (variant == ImageVariant::automatic) {
    variant = device.is_cuda() ? ImageVariant::tiled : ImageVariant::running_sums;
  }
  check_runs("box_blur", kBlurRows, variant, device);
  if (radius < 0) throw Error(ErrorKind::usage, str("box_blur: negative radius ", radius));
  constexpr std::int64_t kMaxExtent = 1 << 24;  // sums of a row or column fit 32 bits
  if (dims.height > kMaxExtent || dims.width > kMaxExtent) {
    throw Error(ErrorKind::usage, str("box_blur: at most ", kMaxExtent, " rows and columns, found ",
                                      dims.height, " x ", dims.width));
  }
  if (checked_elements("box_blur", {dims.height, dims.width, dims.channels}) == 0) return;
  // A window that covers the whole image from every pixel: more makes no difference.
  radius = std::min(radius, std::max(dims.height, dims.width));
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) {
    return variant == ImageVariant::naive ? cuda::box_blur_naive(y, x, dims, radius, stream)
                                          : cuda::box_blur_tiled(y, x, dims, radius, stream);
  }
#endif
  if (variant == ImageVariant::naive) return select_image_cpu().box_blur_naive(y, x, dims, radius);
  const std::int64_t strips = (dims.height + kBlurStrip - 1) / kBlurStrip;
  const Buffer sums(
      sizeof(std::uint32_t) * static_cast<std::size_t>(strips * dims.width * dims.channels),
      stream);
  select_image_cpu().box_blur_running_sums(y, x, dims, radius,
                                           static_cast<std::uint32_t*>(sums.data()));
}

std::span<const VariantInfo> rgb_to_grey_variants() {
  return kGreyInfos;
}
std::span<const VariantInfo> box_blur_variants() {
  return kBlurInfos;
}
std::span<const VariantInfo> image_variants() {
  return kAllInfos;
}

ImageVariant parse_image_variant(std::string_view name) {
  if (name == "automatic") return ImageVariant::automatic;
  std::string choices = "automatic";
  for (const std::span<const Row> rows : {std::span<const Row>(kGreyRows), {kBlurRows}}) {
    for (const auto& [variant, info] : rows) {
      if (name == info.name || name.ends_with(str("_", info.name))) return variant;
      choices += str(", ", info.name);
    }
  }
  throw Error(ErrorKind::usage, str("unknown image variant '", name, "'; choose from ", choices));
}

}  // namespace weft::kernels
