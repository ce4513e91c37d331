// SPDX-License-Identifier: MIT
#include "examples/weft/input/normalisation.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "examples/weft/input/flags.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

std::string channels_text(const std::vector<float>& values) {
  const std::string list = fmt::format("{:.4f}", fmt::join(values, ", "));
  return values.size() == 1 ? list : "(" + list + ")";
}

}  // namespace

std::string normalisation_text(const models::ModelInfo& info) {
  const auto all = [](const std::vector<float>& values, float number) {
    return std::ranges::all_of(values, [&](float value) { return value == number; });
  };
  if (all(info.mean, 0) && all(info.stddev, 1)) return "pixel / 255";
  return fmt::format("(pixel / 255 - {}) / {}", channels_text(info.mean),
                     channels_text(info.stddev));
}

std::string assumption_of(const models::ModelInfo& info, const std::string& path) {
  if (info.normalisation != models::NormalisationSource::assumed) return "";
  return fmt::format(
      "{}: {} is assumed, because nothing says how it reads pixels; {} import FILE with --range, "
      "--mean and --stddev, or --measure DATA makes it known",
      path, normalisation_text(info), program_name());
}

void notice_assumption(const models::ModelInfo& info, const std::string& path) {
  if (const std::string line = assumption_of(info, path); !line.empty()) print_notice(line);
}

}  // namespace weft::cli
