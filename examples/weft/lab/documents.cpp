// SPDX-License-Identifier: MIT
#include "examples/weft/lab/documents.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "data/versions/build_info.h"
#include "lab/record/finding_kinds.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;
using lab::FoundRecord;

// "x.cuh:3 from x.cu:7" is line 3 of x.cuh; line 0 where there is none.
struct Place {
  std::string file;
  int line = 0;
};
Place place_of(const std::string& text) {
  const std::string first = text.substr(0, text.find(" from "));
  const std::size_t colon = first.rfind(':');
  if (colon == std::string::npos) return {};
  return {first.substr(0, colon), std::atoi(first.c_str() + colon + 1)};
}

std::string uri_of(const std::string& file) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string uri = file.starts_with('/') ? "file://" : "";
  for (const char c : file) {
    if (std::string_view(kPlain).find(c) != std::string_view::npos) {
      uri += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return uri;
}

// Lines of source need not be UTF-8.
std::string text_of(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string findings_json(const std::string& program, int exit_code,
                          const std::vector<FoundRecord>& found) {
  Json list = Json::array();
  for (const FoundRecord& one : found) {
    const Place place = place_of(one.line);
    list.push_back({{"kind", lab::flag_name(one.kind)},
                    {"level", one.is_note ? "note" : "finding"},
                    {"message", one.text},
                    {"kernel", one.kernel.empty() ? Json() : Json(one.kernel)},
                    {"file", place.line == 0 ? Json() : Json(place.file)},
                    {"line", place.line == 0 ? Json() : Json(place.line)},
                    {"times", one.more + 1}});
  }
  return text_of({{"schema_version", 1},
                  {"program", program},
                  {"exit_code", exit_code},
                  {"findings", std::move(list)}});
}

std::string findings_sarif(int exit_code, const std::vector<FoundRecord>& found) {
  Json rules = Json::array(), results = Json::array();
  for (const lab::FindingKind& kind : lab::finding_kinds()) {
    rules.push_back({{"id", kind.name},
                     {"shortDescription", {{"text", kind.what}}},
                     {"defaultConfiguration", {{"level", kind.is_note ? "note" : "error"}}}});
  }
  for (const FoundRecord& one : found) {
    Json result = {{"ruleId", lab::flag_name(one.kind)},
                   {"level", one.is_note ? "note" : "error"},
                   {"message", {{"text", one.text}}},
                   {"occurrenceCount", one.more + 1}};
    if (const Place place = place_of(one.line); place.line > 0) {
      result["locations"] = Json::array({{{"physicalLocation",
                                           {{"artifactLocation", {{"uri", uri_of(place.file)}}},
                                            {"region", {{"startLine", place.line}}}}}}});
    }
    results.push_back(std::move(result));
  }
  const Json run = {
      {"tool",
       {{"driver", {{"name", "weft lab"}, {"version", build_info().version}, {"rules", rules}}}}},
      {"invocations",
       Json::array({{{"executionSuccessful", exit_code == 0}, {"exitCode", exit_code}}})},
      {"results", results}};
  return text_of({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                  {"version", "2.1.0"},
                  {"runs", Json::array({run})}});
}

}  // namespace weft::cli
