// SPDX-License-Identifier: MIT
// Files of models that other programs wrote, told by their first bytes, and pictures, which stand
// where a model should when MODEL and IMAGE are given in the wrong order.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "engine/error.h"

namespace weft::models {

enum class ForeignFormat { onnx, torch, npz, pickle, hdf5, keras, shards, picture };

// "an ONNX file", "a file of PyTorch", ...
std::string_view name_of(ForeignFormat format);

// What a regular file is. Nothing for a safetensors file, and for one of no kind that is known.
std::optional<ForeignFormat> foreign_format(const std::filesystem::path& file);

// What to tell whoever takes such a file for a model: the command that imports it, or the order of
// MODEL and IMAGE.
Error not_a_model(const std::filesystem::path& file, ForeignFormat format);

}  // namespace weft::models
