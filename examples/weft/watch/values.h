// SPDX-License-Identifier: MIT
// The values and the names that a page shows beside the addresses of requests. Internal.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "host_cuda/access/access_trace.h"

namespace weft::cli {

// What the bytes of an array stand for.
enum class Element : std::uint8_t { unknown, real, real64, whole, natural };

struct ParameterName {
  std::string name;                    // empty where it has none
  Element element = Element::unknown;  // that it points to
};

// The parameters of the kernel of that name ("scan<float>") in a source. None where it is not
// there.
std::vector<ParameterName> parameters_of(std::string_view source, std::string_view kernel);

// The name and type of the kernel's dynamic shared memory: `extern __shared__ float tile[];`.
ParameterName dynamic_of(std::string_view source, std::string_view kernel);

// What an array holds by the values that were read and written there, for one of unknown type.
// A whole number that is small would be no float that a program uses, and the other way round.
Element guessed(const std::vector<const TracedEvent*>& requests);

// The values of a request's lanes, as numbers, or lists of them where a lane has several; one for
// all lanes where all have the same.
nlohmann::ordered_json values_json(const TracedEvent& event, Element element);

// The kernels of a trace, each looked up once in the sources.
class Kernels {
 public:
  explicit Kernels(const AccessTrace& trace) : trace_(trace) {}

  // The names that a launch's kernel has for arrays, by the place of the array in the trace.
  std::map<std::uint32_t, ParameterName> names_in(const TracedLaunch& launch);

 private:
  struct Known {
    std::vector<ParameterName> parameters;
    ParameterName dynamic;
  };

  const AccessTrace& trace_;
  std::map<std::string, Known> known_;
};

}  // namespace weft::cli
