// SPDX-License-Identifier: MIT
// Any bytes are the text of a network or one line of Error{data} that names a line and a column,
// and a network that is made of them keeps to its limits. Its memory is counted, not taken.
#include "models/networks/networks.h"
#include "tests/fuzz/fuzz.h"

namespace {

using weft::fuzz::require;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "fuzz.net:LINE:COLUMN: ..."
void check_message(std::string_view line) {
  constexpr std::string_view kFile = "fuzz.net:";
  weft::fuzz::require_one_line(line, kFile);
  line.remove_prefix(kFile.size());
  for (int number = 0; number < 2; ++number) {
    require(!line.empty() && is_digit(line.front()), "an error without its line and column");
    while (!line.empty() && is_digit(line.front())) line.remove_prefix(1);
    require(line.starts_with(":"), "an error without its line and column");
    line.remove_prefix(1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;  // an empty definition stands for a built-in network
  const weft::fuzz::TimeLimit limit(2);
  weft::models::NetworkOptions options;
  options.name = "fuzz.net";
  options.definition.assign(reinterpret_cast<const char*>(bytes), size);
  try {
    const auto net = weft::models::make_network(options);
    require(net->output_shape(1) == weft::Shape{1, 10}, "a network without the classes' outputs");
    require(net->parameter_count() <= std::int64_t{1} << 32, "too many parameters");
  } catch (const weft::Error& error) {
    require(error.kind() == weft::ErrorKind::data, "an error of another kind");
    check_message(error.what());
  }
  return 0;
}
