// SPDX-License-Identifier: MIT
// The JSON lines of --json. Included by sources only: it needs nlohmann-json.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/text.h"
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

// A text that is not UTF-8, as the name of a file may be, has U+FFFD for the bytes that are not.
// The field behind it has all of them in base64: "image_bytes" of "image".
inline std::string json_line(nlohmann::ordered_json value) {
  nlohmann::ordered_json bytes = nlohmann::ordered_json::object();
  for (const auto& [name, field] : value.items()) {
    if (!field.is_string()) continue;
    const auto& text = field.get_ref<const std::string&>();
    if (is_utf8(text)) continue;
    bytes[name + "_bytes"] =
        base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }
  value.update(bytes);
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
