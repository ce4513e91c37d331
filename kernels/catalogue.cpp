// SPDX-License-Identifier: MIT
#include "kernels/catalogue.h"

namespace weft::kernels {

#define WEFT_FAMILY(name, summary, folder, function) Rungs name##_rungs();
#include "kernels/families.inc"
#undef WEFT_FAMILY

namespace {

constexpr Family kFamilies[] = {
#define WEFT_FAMILY(name, summary, folder, function) \
  {#name, summary, name##_rungs, folder, function},
#include "kernels/families.inc"
#undef WEFT_FAMILY
};

}  // namespace

std::span<const Family> catalogue() {
  return kFamilies;
}

const Family* find_family(std::string_view name) {
  for (const Family& family : kFamilies) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

std::string_view rung_name(std::string_view family, std::string_view name) {
  if (name == kAutomatic) return kAutomatic;
  const Rungs rungs = find_family(family)->rungs();
  const Rung* rung = rungs.find(name);
  if (rung == nullptr) ladder::throw_unknown(family, name, rungs);
  return rung->name;
}

}  // namespace weft::kernels
