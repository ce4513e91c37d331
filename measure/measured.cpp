// SPDX-License-Identifier: MIT
#include "measure/measured.h"

namespace weft::measure {
namespace {

constexpr MeasuredRung kMeasured[] = {
#include "measure/measured_rungs.inc"
};

}  // namespace

std::span<const MeasuredRung> measured_rungs() {
  return kMeasured;
}

const MeasuredRung* measured_rung(std::string_view family, std::string_view rung,
                                  std::string_view gpu) {
  const MeasuredRung* first = nullptr;
  for (const MeasuredRung& one : kMeasured) {
    if (one.family != family || one.rung != rung) continue;
    if (one.gpu == gpu) return &one;
    if (first == nullptr) first = &one;
  }
  return first;
}

}  // namespace weft::measure
