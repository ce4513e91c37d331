// SPDX-License-Identifier: MIT
// Any bytes are the text of a network or one line of Error{data} that names a line and a column,
// and a network that is made of them keeps to its limits. libFuzzer calls this; replay.cpp calls it
// with the files of a corpus. The memory of the network is counted, not taken.
#include <cstdlib>
#include <ctime>
#include <iostream>

#include "models/networks.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "fuzz_network: " << what << "\n";
  std::abort();
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "fuzz.net:LINE:COLUMN: ..."
void check_message(std::string_view line) {
  for (const char c : line) require(c >= ' ' && c <= '~', "an error that is not one line of text");
  constexpr std::string_view kFile = "fuzz.net:";
  require(line.starts_with(kFile), "an error that does not name the file");
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
  constexpr std::clock_t kMost = 2 * CLOCKS_PER_SEC;  // of the processor
  const std::clock_t begin = std::clock();
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
  require(std::clock() - begin < kMost, "took more than 2 s");
  return 0;
}
