// SPDX-License-Identifier: MIT
// Any bytes are a pickle or one line of Error{data}, and what was read keeps to its limits: no
// value holds itself, an array has the bytes of its shape.
#include <algorithm>
#include <unordered_map>

#include "data/pickle/pickle.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace weft;

// The values from here down; each is looked at once.
int depth_of(const data::PickleValue& value,
             std::unordered_map<const data::PickleValue*, int>& depths, int above = 0) {
  fuzz::require(above < data::kMostPickleDepth, "values too deep within each other");
  if (const auto found = depths.find(&value); found != depths.end()) return found->second;
  using Kind = data::PickleValue::Kind;
  fuzz::require((value.array != nullptr) == (value.kind == Kind::array), "an array without one");
  fuzz::require((value.tensor != nullptr) == (value.kind == Kind::tensor), "a tensor without one");
  fuzz::require(value.kind != Kind::dict || value.items.size() % 2 == 0, "a key without a value");
  if (value.array != nullptr) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : value.array->shape) elements *= extent;
    fuzz::require(value.array->elements() == elements, "an array of another size");
  }
  int depth = 1;
  for (const data::PickleValue* item : value.items) {
    depth = std::max(depth, 1 + depth_of(*item, depths, above + 1));
  }
  return depths[&value] = depth;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::TimeLimit limit(2);
  fuzz::Input rest(bytes, size);
  try {
    while (!rest.empty()) {
      const data::Pickle pickle = data::read_pickle(rest, "fuzz");
      std::unordered_map<const data::PickleValue*, int> depths;
      fuzz::require(depth_of(*pickle.root, depths) <= data::kMostPickleDepth, "too deep");
      fuzz::require(pickle.bytes > 0 && pickle.bytes <= rest.size(), "bytes that are not there");
      rest = rest.subspan(pickle.bytes);
    }
  } catch (const Error& error) {
    fuzz::require_data_error(error, "fuzz");
  }
  return 0;
}
