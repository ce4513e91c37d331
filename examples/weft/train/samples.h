// SPDX-License-Identifier: MIT
// A handful of test images as PNG files in a run directory, to try predict on.
#pragma once

#include <filesystem>

#include "data/files/directory.h"
#include "data/sets/dataset.h"

namespace weft::cli {

// Writes RUN/samples/0-LABEL.png ...: one image of each of the first classes. Returns the folder,
// or an empty path when the set is empty.
std::filesystem::path write_samples(const data::Dataset& dataset, const data::Directory& run);

}  // namespace weft::cli
