// SPDX-License-Identifier: MIT
#include "examples/weft/train/augmentation.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "engine/error.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

// What --augment does to drawings, with one channel, and to pictures in colour.
constexpr kernels::Augmentation kAugmentation{
    .rotate_degrees = 10, .scale = 0.1f, .shear = 0.1f, .shift = 2};
constexpr kernels::Augmentation kColourAugmentation{.flip = true, .crop = 4};

}  // namespace

void add_augment_flags(CLI::App& app, AugmentFlags& flags) {
  app.add_flag("--augment", flags.augment,
               "change the training images from epoch to epoch: grey ones are turned, scaled, "
               "sheared and shifted, coloured ones flipped and cropped as by --flip --crop 4");
  app.add_flag("--no-augment", flags.no_augment, "take them as they are: the default");
  app.add_flag("--flip", flags.flip, "mirror every other image, left to right");
  add_whole(app, "--crop", flags.crop, 0, kernels::Augmentation::kMaxCrop,
            "move each image by up to N pixels: a window of its padded self; 0: none");
  add_real(app, "--brightness", flags.brightness, 0, 1,
           "make each lighter or darker by up to this part of white");
  add_real(app, "--contrast", flags.contrast, 0, 1,
           "change the contrast of each by up to this part");
  add_whole(app, "--cutout", flags.cutout, 0, kernels::Augmentation::kMaxCrop,
            "blank out a square of N pixels a side, anywhere; 0: none");
}

void check_augment_flags(const CLI::App& app, const AugmentFlags& flags) {
  for (const char* name :
       {"--augment", "--flip", "--crop", "--brightness", "--contrast", "--cutout"}) {
    if (!flags.no_augment || app.get_option(name)->count() == 0) continue;
    throw Error(ErrorKind::usage, fmt::format("{} and --no-augment exclude each other", name));
  }
}

kernels::Augmentation augmentation_from(const AugmentFlags& flags,
                                        const kernels::Augmentation& start, std::int64_t channels) {
  kernels::Augmentation chosen = start;
  if (flags.no_augment) chosen = {};
  if (flags.augment && !chosen.any()) {
    chosen = channels == 1 ? kAugmentation : kColourAugmentation;
  }
  if (flags.flip) chosen.flip = true;
  if (flags.crop >= 0) chosen.crop = static_cast<std::int32_t>(flags.crop);
  if (flags.brightness >= 0) chosen.brightness = static_cast<float>(flags.brightness);
  if (flags.contrast >= 0) chosen.contrast = static_cast<float>(flags.contrast);
  if (flags.cutout >= 0) chosen.cutout = static_cast<std::int32_t>(flags.cutout);
  return chosen;
}

std::string augmentation_text(const kernels::Augmentation& augmentation) {
  std::vector<std::string> parts;
  if (augmentation.warps()) {
    parts.push_back(
        fmt::format("turn {0}{1:g} degrees, size {0}{2:g} %, shear {0}{3:g}, shift {0}{4:g} px",
                    plus_minus(), augmentation.rotate_degrees, 100 * augmentation.scale,
                    augmentation.shear, augmentation.shift));
  }
  if (augmentation.flip) parts.emplace_back("flip");
  if (augmentation.crop > 0) parts.push_back(fmt::format("crop {} px", augmentation.crop));
  if (augmentation.brightness > 0) {
    parts.push_back(
        fmt::format("brightness {}{:g} %", plus_minus(), 100 * augmentation.brightness));
  }
  if (augmentation.contrast > 0) {
    parts.push_back(fmt::format("contrast {}{:g} %", plus_minus(), 100 * augmentation.contrast));
  }
  if (augmentation.cutout > 0) {
    parts.push_back(fmt::format("cutout of {0} x {0} px", augmentation.cutout));
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace weft::cli
