// SPDX-License-Identifier: MIT
// Named tensors that another program wrote, without the network that they belong to.
//
// These files are read:
//   - .safetensors with F32, F16, BF16 and F64, or the index of several such files beside it.
//   - .npz with NumPy's arrays of numbers, such as `weft export --format npz` writes.
//   - .pt and .pth with a state dict of PyTorch, alone or in a checkpoint. Both formats of PyTorch
//     are read: ZIP files, and those of the versions before 1.6.
//   - .pkl with a dict of NumPy's arrays.
//   - .keras, .weights.h5 and .h5 of Keras (keras.cpp), whose tensors get PyTorch's names and
//   orders.
// Pickles are read by data/pickle, which executes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/files/safetensors.h"

namespace weft::models {

// What tells which layer a tensor is of, where its name does not.
enum class TensorOrder {
  file,   // the layers come as they do in the program that wrote it
  names,  // the order of their names
  kinds,  // of layers with tensors of the same ranks, their order
};

struct Weights {
  std::vector<NamedTensor> tensors;  // floats
  TensorOrder order = TensorOrder::file;
  // Did that program have an image's channels last, where a row is made of it?
  bool channels_last = false;
  // The image that the file tells: channels, height, width.
  std::optional<std::array<std::int64_t, 3>> input = {};
  std::vector<std::string> notices = {};  // what people should know, a sentence each
};

inline constexpr std::uint64_t kMostWeightBytes = kMaxSafetensorsFileBytes;  // of all files

// Throws data for a file that is damaged, or holds no tensors. Takes memory in proportion to the
// file. Counters (NAME.num_batches_tracked) are left out. A prefix that all names have and that
// programs put in front of them ("module.", "model.", "_orig_mod.") is dropped with a notice.
Weights read_weights(const std::filesystem::path& file);

// torch_file.cpp: the tensors of a .pt or .pth file, or of a pickle of arrays.
Weights read_torch(std::span<const std::uint8_t> file, const std::string& where);

// keras.cpp: the tensors of an HDF5 file, or of an archive with one in it. Throws usage where this
// program has no libhdf5.
Weights read_keras(std::span<const std::uint8_t> file, bool is_archive, const std::string& where);

}  // namespace weft::models
