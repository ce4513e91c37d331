// SPDX-License-Identifier: MIT
#include "examples/weft/watch/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "lab/tokens.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

Element element_named(std::string_view word) {
  for (const std::string_view real :
       {"float", "float2", "float3", "float4", "half", "__half", "half2"}) {
    if (word == real) return Element::real;
  }
  if (word.substr(0, 6) == "double") return Element::real64;
  if (word.substr(0, 1) == "u" || word == "size_t") return Element::natural;
  for (const std::string_view whole : {"int", "char", "short", "long", "bool", "signed"}) {
    if (word.substr(0, whole.size()) == whole) return Element::whole;
  }
  return Element::unknown;
}

// One parameter, of the tokens [from, to).
ParameterName parameter(const lab::TokenView& tokens, std::size_t from, std::size_t to) {
  ParameterName made;
  std::size_t words = 0;
  int stars = 0;
  for (std::size_t i = from; i < to && !tokens.is(i, "="); ++i) {
    if (tokens.is(i, "[")) {
      ++stars;
      break;
    }
    if (tokens.is(i, "*")) ++stars;
    if (!tokens.is_word(i)) continue;
    const std::string_view word = tokens.text(i);
    ++words;
    if (made.element == Element::unknown) made.element = element_named(word);
    made.name = word;
  }
  if (words < 2) made.name.clear();
  if (stars != 1) made.element = stars == 0 ? Element::unknown : Element::natural;
  return made;
}

bool is_kernel(const lab::TokenView& tokens, std::size_t name) {
  for (std::size_t i = name; i-- > 0 && !tokens.is(i, ";") && !tokens.is(i, "}");) {
    if (tokens.is(i, "__global__")) return true;
  }
  return false;
}

// The name of a kernel that is defined there; the end where it is not.
std::size_t place_of_kernel(const lab::TokenView& tokens, std::string_view kernel) {
  const std::string_view name = kernel.substr(0, kernel.find('<'));
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens.is(i, name) && tokens.is(i + 1, "(") && is_kernel(tokens, i)) return i;
  }
  return tokens.size();
}

std::vector<ParameterName> parameters_at(const lab::TokenView& tokens, std::size_t open) {
  std::vector<ParameterName> found;
  int depth = 0;
  std::size_t from = open + 1;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    const std::string_view text = tokens.text(i);
    if (text == "(" || text == "<" || text == "[" || text == "{") ++depth;
    if (text == ")" || text == ">" || text == "]" || text == "}") --depth;
    if (depth == 0 || (depth == 1 && text == ",")) {
      if (i > from) found.push_back(parameter(tokens, from, i));
      from = i + 1;
    }
    if (depth == 0) break;
  }
  return found;
}

template <class T>
T bits_of(std::uint64_t word) {
  T value{};
  std::memcpy(&value, &word, sizeof value);
  return value;
}

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double value = exponent == 0    ? std::ldexp(fraction, -24)
                       : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                        : std::ldexp(fraction + 1024, exponent - 25);
  return bits >> 15 == 0 ? value : -value;
}

// Six digits are as many as a float has.
Json real_json(double value) {
  constexpr double kWhole = 1e6;
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (std::abs(value) < kWhole && value == std::floor(value)) return std::lround(value);
  return std::stod(fmt::format("{:.6g}", value));
}

Json whole_json(std::uint64_t word, std::uint32_t bytes, bool is_signed) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;  // of JavaScript's numbers
  const unsigned unused = 64 - 8 * bytes;
  if (!is_signed) {
    const std::uint64_t value = word << unused >> unused;
    return value < static_cast<std::uint64_t>(kExact) ? Json(value)
                                                      : Json(fmt::format("{}", value));
  }
  const auto value = static_cast<std::int64_t>(word << unused) >> unused;
  return std::abs(value) < kExact ? Json(value) : Json(fmt::format("{}", value));
}

Json one_json(std::uint64_t word, std::uint32_t bytes, Element element) {
  if (element == Element::real64 && bytes == 8) return real_json(bits_of<double>(word));
  if (element == Element::real && bytes == 4) return real_json(bits_of<float>(word));
  if (element == Element::real && bytes == 2) {
    return real_json(half_value(static_cast<std::uint16_t>(word)));
  }
  return whole_json(word, bytes, element == Element::whole || bytes < 8);
}

// A lane has one number, or as many as it has accessed at once.
Json lane_json(const std::uint64_t* words, std::uint32_t bytes, Element element) {
  const std::uint32_t each = element == Element::real64 ? 8 : 4;
  if (bytes <= each || (bytes == 8 && element != Element::real)) {
    return one_json(words[0], std::min(bytes, 8u), element);
  }
  Json list = Json::array();
  for (std::uint32_t at = 0; at + each <= std::min(bytes, 16u); at += each) {
    list.push_back(one_json(words[at / 8] >> (at % 8 * 8), each, element));
  }
  return list;
}

bool is_usual(double value) {
  return std::isfinite(value) && std::abs(value) > 1e-10 && std::abs(value) < 1e10;
}

}  // namespace

std::vector<ParameterName> parameters_of(std::string_view source, std::string_view kernel) {
  const lab::Tokens found = lab::tokenize(source);
  const lab::TokenView tokens(source, found.code);
  const std::size_t name = place_of_kernel(tokens, kernel);
  if (name == tokens.size()) return {};
  return parameters_at(tokens, name + 1);
}

ParameterName dynamic_of(std::string_view source, std::string_view kernel) {
  const lab::Tokens found = lab::tokenize(source);
  const lab::TokenView tokens(source, found.code);
  std::size_t i = place_of_kernel(tokens, kernel);
  while (i < tokens.size() && !tokens.is(i, "{")) ++i;
  int depth = 0;
  for (; i < tokens.size(); ++i) {
    if (tokens.is(i, "{")) ++depth;
    if (tokens.is(i, "}") && --depth == 0) break;
    if (!tokens.is(i, "extern")) continue;
    std::size_t end = i;
    bool is_shared = false;
    for (; end < tokens.size() && !tokens.is(end, "[") && !tokens.is(end, ";"); ++end) {
      is_shared = is_shared || tokens.is(end, "__shared__");
    }
    if (is_shared && tokens.is(end, "[")) return parameter(tokens, i, end + 1);
  }
  return {};
}

Element guessed(const std::vector<const TracedEvent*>& requests) {
  std::size_t reals = 0, reals64 = 0, others = 0;
  for (const TracedEvent* one : requests) {
    for (const std::uint64_t word : one->values) {
      if (word == 0 || one->bytes < 4) continue;
      if (one->bytes == 8 && is_usual(bits_of<double>(word))) {
        ++reals64;
      } else if (is_usual(bits_of<float>(word)) &&
                 (one->bytes == 4 || is_usual(bits_of<float>(word >> 32)))) {
        ++reals;
      } else {
        ++others;
      }
    }
  }
  if (reals64 > std::max(reals, others)) return Element::real64;
  return reals > others ? Element::real : Element::whole;
}

Json values_json(const TracedEvent& event, Element element) {
  const std::size_t each = event.bytes > 8 ? 2 : 1;
  Json list = Json::array();
  bool are_same = true;
  for (std::size_t at = 0; at + each <= event.values.size(); at += each) {
    list.push_back(lane_json(&event.values[at], event.bytes, element));
    are_same = are_same && list.back() == list.front();
  }
  if (!are_same || list.empty()) return list;
  return Json::array({list.front()});
}

std::map<std::uint32_t, ParameterName> Kernels::names_in(const TracedLaunch& launch) {
  const auto [at, is_new] = known_.try_emplace(launch.kernel);
  Known& known = at->second;
  if (is_new) {
    for (const auto& [path, text] : trace_.sources) {
      if (known.parameters.empty()) known.parameters = parameters_of(text, launch.kernel);
      if (known.dynamic.name.empty()) known.dynamic = dynamic_of(text, launch.kernel);
    }
  }
  std::map<std::uint32_t, ParameterName> names;
  for (const TracedPointer& one : launch.pointers) {
    if (one.argument >= known.parameters.size()) continue;
    const ParameterName& parameter = known.parameters[one.argument];
    if (!parameter.name.empty()) names.try_emplace(one.array, parameter);
  }
  for (std::size_t i = 0; i < trace_.arrays.size() && !known.dynamic.name.empty(); ++i) {
    if (trace_.arrays[i].name != "dynamic shared memory") continue;
    names.try_emplace(static_cast<std::uint32_t>(i), known.dynamic);
  }
  return names;
}

}  // namespace weft::cli
