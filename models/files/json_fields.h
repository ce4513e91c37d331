// SPDX-License-Identifier: MIT
// Typed, range-checked access to JSON from a file. Included by sources only: it needs
// nlohmann-json.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/error.h"
#include "engine/text.h"
#include "models/files/json_check.h"

namespace weft::models {

inline constexpr int kSchemaVersion = 1;  // of what Weft writes as JSON

using Json = nlohmann::ordered_json;

// The double with the fewest digits that is this float: 0.1f is written as 0.1.
inline double shortest(float value) {
  const double decimal = std::stod(fmt::format("{}", value));
  return static_cast<float>(decimal) == value ? decimal : static_cast<double>(value);
}

// Typed, range-checked access to a JSON object from a file.
class Fields {
 public:
  Fields(Json object, std::string where) : object_(std::move(object)), where_(std::move(where)) {
    if (!object_.is_object()) fail("expected a JSON object");
  }

  const Json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) fail(str("the field \"", key, "\" is missing"));
    return *found;
  }
  bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }

  Fields object(const char* key) const { return {at(key), str(where_, ": ", key)}; }

  std::int64_t integer(const char* key, std::int64_t low, std::int64_t high) const {
    const Json& value = at(key);
    const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= INT64_MAX
                                                 : value.is_number_integer();
    if (fits && value.get<std::int64_t>() >= low && value.get<std::int64_t>() <= high) {
      return value.get<std::int64_t>();
    }
    fail(str("expected \"", key, "\" from ", low, " to ", high, ", found ",
             in_quotes(value.dump())));
  }
  std::uint64_t unsigned_integer(const char* key) const {
    const Json& value = at(key);
    if (!value.is_number_unsigned()) fail(str("expected \"", key, "\" to be a whole number >= 0"));
    return value.get<std::uint64_t>();
  }
  double number(const char* key) const {
    const Json& value = at(key);
    const double number = value.is_number() ? value.get<double>() : NAN;
    if (!std::isfinite(number)) fail(str("expected \"", key, "\" to be a finite number"));
    return number;
  }
  float single(const char* key) const {
    const double value = number(key);
    if (std::fabs(value) > std::numeric_limits<float>::max()) {
      fail(str("expected \"", key, "\" to be a finite float"));
    }
    return static_cast<float>(value);
  }
  bool boolean(const char* key) const {
    if (!at(key).is_boolean()) fail(str("expected \"", key, "\" to be true or false"));
    return at(key).get<bool>();
  }
  std::string text(const char* key) const {
    if (!at(key).is_string()) fail(str("expected \"", key, "\" to be a string"));
    return at(key).get<std::string>();
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> out;
    for (const Json& element : array(key)) {
      if (!element.is_string()) fail(str("expected \"", key, "\" to be a list of strings"));
      out.push_back(element.get<std::string>());
    }
    return out;
  }
  const Json& array(const char* key) const {
    if (!at(key).is_array()) fail(str("expected \"", key, "\" to be a list"));
    return at(key);
  }
  void check_schema() const {
    const std::int64_t version = integer("schema_version", 0, INT64_MAX);
    if (version != kSchemaVersion) {
      fail(str("expected schema_version ", kSchemaVersion, ", found ", version));
    }
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::data, str(where_, ": ", problem));
  }
  const std::string& where() const { return where_; }

 private:
  Json object_;
  std::string where_;
};

inline Fields parse_fields(std::string_view text, const std::string& where) {
  check_json(text, {}, where);
  return {Json::parse(text), where};
}

// The settings that have a flag of their own, by Setting::key(). In training/runs/run_state.cpp.
Json settings_by_key(const struct TrainConfig& config);

// Runs a parser that throws for an unknown name; in a file that is bad data.
template <class Parser>
auto parsed(const Fields& fields, const char* key, const Parser& parser) {
  try {
    return parser(fields.text(key));
  } catch (const Error& error) {
    fields.fail(error.what());
  }
}

}  // namespace weft::models
