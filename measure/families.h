// SPDX-License-Identifier: MIT
// The problems of every family that the harness can run. Adding a family: one file in problems/
// that defines a FamilyBench; the list is that of kernels/families.inc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/harness.h"

namespace weft::measure {

// What `automatic` takes, and why, when it is asked so.
struct NamedChoice {
  std::string call;  // "tf32, B^T"
  kernels::Choice choice;
};

// Makes the memory of a problem ready.
using MakeWork = std::function<std::unique_ptr<Work>(const Context&)>;

struct FamilyBench {
  std::string_view family;        // as in kernels/catalogue.h
  std::string_view size_meaning;  // what --size counts
  std::int64_t default_size;      // of `weft kernel run`
  std::int64_t largest_size;      // that --size accepts
  std::unique_ptr<Work> (*sized)(std::int64_t size, const Context& context);
  // The problems of `weft bench`, for this device; made one after the other to save memory.
  std::vector<MakeWork> (*problems)(Device device);
  // A second list, of `weft bench FAMILY:NAME`, or none.
  std::string_view more_name = {};
  std::vector<MakeWork> (*more)(Device device) = nullptr;
  // A problem of `shape_extents` numbers, for families where --size takes as many: 256x512x784.
  int shape_extents = 0;
  int shape_extents_least = 0;  // where fewer will do: 512x512 beside 64x64x64
  std::unique_ptr<Work> (*shaped)(std::span<const std::int64_t> extents,
                                  const Context& context) = nullptr;
  // What `automatic` takes for the problem of a size, for families where that depends on it.
  std::vector<NamedChoice> (*choices)(std::span<const std::int64_t> size, Device device) = nullptr;
  // The rung that `weft bench FAMILY/RUNG` measures beside the yardsticks, or all.
  std::string_view only = {};
};

std::span<const FamilyBench* const> family_benches();
const FamilyBench* find_family_bench(std::string_view family);  // null when there is none

// Throws usage unless `size`, one number or several, or none for the default, is a --size of this
// family.
void check_size(const FamilyBench& family, std::span<const std::int64_t> size);
// The problem of a size that check_size() accepts.
std::unique_ptr<Work> make_problem(const FamilyBench& family, std::span<const std::int64_t> size,
                                   const Context& context);

}  // namespace weft::measure
