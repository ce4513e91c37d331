// SPDX-License-Identifier: MIT
// What data sets that the program draws have in common.
// Internal to this folder.
#pragma once

#include <cstdint>
#include <functional>

#include "data/hard/draw.h"
#include "data/sets/dataset.h"

namespace weft::data {

// Calls work(i) once for each i below `count`, on all cores. It must not throw.
void on_all_cores(std::int64_t count, const std::function<void(std::int64_t)>& work);

// Draws an image of class `label` into `pixels`, which are those of one image; `index` picks which.
using DrawImage = void(int label, std::uint64_t seed, std::uint64_t index, std::uint8_t* pixels);

// Fills train and test, which never share an image, their statistics and the source. The classes
// are those of dataset.class_names, each as likely; `empty` has the size of the images.
void draw_sets(Dataset& dataset, const ImageSet& empty, std::int64_t train, std::int64_t test,
               std::uint64_t seed, DrawImage* draw_image);

}  // namespace weft::data
