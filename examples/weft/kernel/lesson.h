// SPDX-License-Identifier: MIT
// What weft kernel show tells of a rung without running it: where its source is and the comment on
// top of that, the rung before, and what public figures say of it on a GPU that need not be here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/weft/kernel/kernel.h"
#include "examples/weft/output/tables.h"

namespace weft::cli {

std::string percent_text(double share);  // "12.5 %"

// The comment on top of the rung's file, in `width` columns; empty for rungs of the CPU alone.
std::string rung_header(const KernelName& name, int width);

// The rung before, and the file of this one.
void tell_source(const KernelName& name, Pairs& pairs, nlohmann::ordered_json& event);

constexpr std::string_view kMeasuredOn = "on an ";  // begins the name of what was measured
// The name of the GPU that the figures of READMEs are of.
std::string default_gpu();
// Occupancy and place on the roofline of the GPU of this name, and what was measured on it. Without
// a name, or where it was not measured there, it is the GPU of the family's README.
void tell_gpu(const KernelName& name, const measure::Work& work, const std::string& gpu,
              Pairs& pairs, nlohmann::ordered_json& event);

// Throws usage when a flag was given to a whole family that is of a rung.
void refuse_rung_flags(const KernelRun& run);
// Throws usage when a flag was given that means nothing to this problem.
// `variant` may be empty.
void check_parameters(const KernelRun& run, std::string_view variant, const measure::Work& work);

}  // namespace weft::cli
