// SPDX-License-Identifier: MIT
// The JSON lines of --json. Included by sources only: it needs nlohmann-json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weft::cli {

inline constexpr int kSchemaVersion = 1;  // changes when a field changes its meaning or goes away

inline nlohmann::ordered_json json_event(std::string_view event) {
  return {{"schema_version", kSchemaVersion}, {"event", event}};
}

// One line; bytes that are not UTF-8 (a path may hold them) are replaced.
inline std::string json_line(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weft::cli
