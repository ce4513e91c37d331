// SPDX-License-Identifier: MIT
// The parts of JSON that a model's metadata and the record of a run share. Included by sources
// only: it needs nlohmann-json.
#pragma once

#include "models/files/json_fields.h"
#include "models/model.h"

namespace weft::models {

inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;  // of images

void add_network(Json& json, const NetworkOptions& network);
NetworkOptions network_from(const Fields& fields);

Json json_of(const Calibration& calibration);
// Older files have none.
Calibration calibration_from(const Fields& fields);

}  // namespace weft::models
