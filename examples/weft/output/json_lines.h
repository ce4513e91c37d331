// SPDX-License-Identifier: MIT
// The JSON lines of --json. Included by sources only: it needs nlohmann-json.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "examples/weft/output/terminal.h"

namespace weft::cli {

inline constexpr int kSchemaVersion = 1;  // changes when a field changes its meaning or goes away

// An event with these fields, {{"name", value}, ...}.
inline nlohmann::ordered_json json_event(
    std::string_view event, std::initializer_list<nlohmann::ordered_json> fields = {}) {
  nlohmann::ordered_json json = {{"schema_version", kSchemaVersion}, {"event", event}};
  for (const nlohmann::ordered_json& field : fields) json[field[0].get<std::string>()] = field[1];
  return json;
}

inline std::string json_line(const nlohmann::ordered_json& value) {
  return json_text(value) + "\n";
}

inline nlohmann::ordered_json or_null(bool known, nlohmann::ordered_json value) {
  if (!known) return nullptr;
  return value;
}

inline void print_event(std::string_view event,
                        std::initializer_list<nlohmann::ordered_json> fields) {
  write_out(json_line(json_event(event, fields)));
}

}  // namespace weft::cli
