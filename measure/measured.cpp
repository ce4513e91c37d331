// SPDX-License-Identifier: MIT
#include "measure/measured.h"

namespace weft::measure {
namespace {

constexpr MeasuredRung kMeasured[] = {
#include "measure/measured_h200.inc"
};

}  // namespace

std::span<const MeasuredRung> measured_on_h200() {
  return kMeasured;
}

const MeasuredRung* measured_on_h200(std::string_view family, std::string_view rung) {
  for (const MeasuredRung& one : kMeasured) {
    if (one.family == family && one.rung == rung) return &one;
  }
  return nullptr;
}

}  // namespace weft::measure
