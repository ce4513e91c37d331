// SPDX-License-Identifier: MIT
// main() of the programs that show one kernel family each: PROGRAM [DEVICE]. The exit code is 0
// when the example's result is right.
#include <cstdio>

#include "engine/error.h"
#include "engine/stream.h"
#include "engine/text.h"

bool example(const weft::Stream& stream);

int main(int argc, char** argv) try {
  return example(weft::Stream(weft::parse_device(argc > 1 ? argv[1] : "auto"))) ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", weft::printable(error.what()).c_str());
  return error.exit_code();
}
