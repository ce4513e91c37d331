// SPDX-License-Identifier: MIT
#include "models/files/json_check.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "engine/error.h"
#include "engine/text.h"

namespace weft::models {

namespace {

using Json = nlohmann::json;

// Receives the parser's events; returning false ends the parse.
class Checker : public nlohmann::json_sax<Json> {
 public:
  explicit Checker(const JsonLimits& limits) : limits_(limits) {}

  const std::string& problem() const { return problem_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    return fail(str("the key ", in_quotes(name), " appears twice"));
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return fail(str("not valid JSON near byte ", position));
  }

 private:
  bool value() {
    if (++values_ <= limits_.values) return true;
    return fail(str("more than ", limits_.values, " JSON values"));
  }
  bool open() {
    keys_.emplace_back();
    if (keys_.size() <= static_cast<std::size_t>(limits_.depth)) return value();
    return fail(str("JSON nested deeper than ", limits_.depth, " levels"));
  }
  bool close() {
    keys_.pop_back();
    return true;
  }
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  JsonLimits limits_;
  std::vector<std::unordered_set<std::string>> keys_;  // one set per open object or array
  std::int64_t values_ = 0;
  std::string problem_;
};

}  // namespace

void check_json(std::string_view text, const JsonLimits& limits, const std::string& where) {
  Checker checker(limits);
  if (!Json::sax_parse(text, &checker)) {
    throw Error(ErrorKind::data, str(where, ": ", checker.problem()));
  }
}

}  // namespace weft::models
