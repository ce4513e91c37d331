// SPDX-License-Identifier: MIT
// Reads and writes the safetensors format: an 8-byte little-endian header length, a JSON header
// naming dtype, shape and byte range of each tensor, then the bytes.
//
// The reader trusts nothing: header size, JSON (duplicate keys refused), dtypes, shapes times
// element size against ranges, ranges that overlap, leave gaps or pass the end of the file are all
// checked before anything is allocated from them. Failures throw Error{data} naming the file.
// Tensors are F32, or F64 where the caller takes doubles. Where it takes any, F16, BF16 and F64
// become F32. PyTorch's NAME.num_batches_tracked, an I64, is skipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/file_io.h"
#include "engine/tensor.h"

namespace weft::models {

struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;         // F32; other dtypes are refused by name, see above
  std::vector<double> doubles = {};  // of an F64 tensor, which has no values
};

struct SafeTensors {
  std::map<std::string, std::string> metadata;
  std::vector<NamedTensor> tensors;  // in file order

  const NamedTensor* find(std::string_view name) const;  // null when absent
};

inline constexpr std::uint64_t kMaxSafetensorsHeaderBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kMaxSafetensorsFileBytes = std::uint64_t{2} << 30;

enum class SafetensorsDtypes { f32, f32_and_f64, any_real };  // that a caller takes
SafeTensors read_safetensors(const std::filesystem::path& path,
                             SafetensorsDtypes dtypes = SafetensorsDtypes::f32);
SafeTensors read_safetensors(const data::InputFile& file,
                             SafetensorsDtypes dtypes = SafetensorsDtypes::f32);
// Error{usage} for a name that appears twice, the name "__metadata__", or values that are not as
// many as the shape says. A tensor with doubles is F64.
std::vector<std::byte> safetensors_bytes(const SafeTensors& content);
// Crash-safe, as write_file_atomically() is.
void write_safetensors(const data::OutputPath& to, const SafeTensors& content);

}  // namespace weft::models
