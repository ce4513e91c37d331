// SPDX-License-Identifier: MIT
// The flags of weft train that change the training images from epoch to epoch.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/batch/batch.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct AugmentFlags {
  bool augment = false, no_augment = false, flip = false;
  std::int64_t crop = -1, cutout = -1;  // below 0: as the file or the recipe has it
  double brightness = -1, contrast = -1;
};

void add_augment_flags(CLI::App& app, AugmentFlags& flags);
// Throws usage for flags that exclude each other.
void check_augment_flags(const CLI::App& app, const AugmentFlags& flags);
// What the flags make of `start` for images with so many channels.
kernels::Augmentation augmentation_from(const AugmentFlags& flags,
                                        const kernels::Augmentation& start, std::int64_t channels);

std::string augmentation_text(const kernels::Augmentation& augmentation);  // "none" or its limits

}  // namespace weft::cli
