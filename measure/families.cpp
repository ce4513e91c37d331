// SPDX-License-Identifier: MIT
#include "measure/families.h"

#include "engine/error.h"

namespace weft::measure {

#define WEFT_FAMILY(name, summary, folder, function) extern const FamilyBench name##_bench;
#include "kernels/families.inc"
#undef WEFT_FAMILY

namespace {

const FamilyBench* const kBenches[] = {
#define WEFT_FAMILY(name, summary, folder, function) &name##_bench,
#include "kernels/families.inc"
#undef WEFT_FAMILY
};

}  // namespace

std::span<const FamilyBench* const> family_benches() {
  return kBenches;
}

const FamilyBench* find_family_bench(std::string_view family) {
  for (const FamilyBench* bench : kBenches) {
    if (bench->family == family) return bench;
  }
  return nullptr;
}

void check_size(const FamilyBench& family, std::span<const std::int64_t> size) {
  const auto several = static_cast<std::size_t>(family.shape_extents);
  const auto least = static_cast<std::size_t>(family.shape_extents_least);
  const bool fits =
      size.size() == several || (least > 0 && size.size() >= least && size.size() < several);
  if (size.size() > 1 && !fits) {
    const std::string numbers = least > 0 ? str(least, " to ", several) : str(several);
    throw Error(ErrorKind::usage, str("--size: ", family.family, " takes one number",
                                      several > 0 ? str(" or ", numbers, " joined by x") : "",
                                      ", found ", size.size()));
  }
  double elements = 1;
  for (const std::int64_t extent : size) {
    elements *= static_cast<double>(extent);
    if (least > 0 && elements > static_cast<double>(family.largest_size)) {
      throw Error(ErrorKind::usage, str("--size: expected at most ", family.largest_size,
                                        " elements in all, found more"));
    }
    if (extent <= family.largest_size) continue;
    throw Error(ErrorKind::usage, str("--size: expected at most ", family.largest_size, " ",
                                      family.size_meaning, ", found ", extent));
  }
}

std::unique_ptr<Work> make_problem(const FamilyBench& family, std::span<const std::int64_t> size,
                                   const Context& context) {
  check_size(family, size);
  if (size.size() > 1) return family.shaped(size, context);
  return family.sized(size.empty() ? family.default_size : size[0], context);
}

}  // namespace weft::measure
