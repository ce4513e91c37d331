// SPDX-License-Identifier: MIT
#include "models/files/state_dict.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/text.h"

namespace weft::models {

namespace {

bool is_of(const layers::NamedSlice& slice, SliceKind kind) {
  return slice.trainable == (kind == SliceKind::parameters);
}

// The network comes from the file's metadata, which a few bytes can make as large as they like. The
// tensors come from the file's own bytes, so nothing is allocated before they are known to be
// there.
void check_tensors(const SafeTensors& content, const std::string& prefix,
                   const layers::Sequential& net, SliceKind kind, const std::string& where) {
  for (const layers::NamedSlice& slice : net.slices()) {
    if (!is_of(slice, kind)) continue;
    const std::string name = prefix + slice.name;
    const NamedTensor* tensor = content.find(name);
    if (tensor == nullptr) {
      throw Error(ErrorKind::data,
                  str(where, ": tensor ", name, " is missing, expected shape ", slice.shape));
    }
    if (tensor->shape != slice.shape) {
      throw Error(ErrorKind::data, str(where, ": tensor ", name, ": expected shape ", slice.shape,
                                       ", found ", tensor->shape));
    }
    if (!all_finite(tensor->values)) {
      throw Error(ErrorKind::data,
                  str(where, ": tensor ", name, " holds a value that is not finite"));
    }
  }
}

}  // namespace

void add_tensors(SafeTensors& content, const std::string& prefix, const layers::Sequential& net,
                 SliceKind kind, std::span<const float> flat) {
  for (const layers::NamedSlice& slice : net.slices()) {
    if (!is_of(slice, kind)) continue;
    const auto values = flat.subspan(static_cast<std::size_t>(slice.offset),
                                     static_cast<std::size_t>(slice.shape.elements()));
    content.tensors.push_back({prefix + slice.name, slice.shape, {values.begin(), values.end()}});
  }
}

std::vector<float> flat_values(const SafeTensors& content, const std::string& prefix,
                               const layers::Sequential& net, SliceKind kind,
                               const std::string& where) {
  check_tensors(content, prefix, net, kind, where);
  const std::int64_t count =
      kind == SliceKind::parameters ? net.parameter_count() : net.buffer_count();
  std::vector<float> flat(static_cast<std::size_t>(count));
  for (const layers::NamedSlice& slice : net.slices()) {
    if (!is_of(slice, kind)) continue;
    const std::vector<float>& values = content.find(prefix + slice.name)->values;
    std::copy(values.begin(), values.end(), flat.begin() + slice.offset);
  }
  return flat;
}

void check_no_others(const SafeTensors& content, std::span<const std::string> prefixes,
                     const layers::Sequential& net, const std::string& where) {
  std::set<std::string> known;
  for (const std::string& prefix : prefixes) {
    for (const layers::NamedSlice& slice : net.slices()) known.insert(prefix + slice.name);
  }
  for (const NamedTensor& tensor : content.tensors) {
    if (known.contains(tensor.name)) continue;
    throw Error(ErrorKind::data, str(where, ": unexpected tensor ", in_quotes(tensor.name),
                                     " of shape ", tensor.shape));
  }
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

}  // namespace weft::models
