// SPDX-License-Identifier: MIT
// weft: trains digit classifiers and reads images with them. One file per subcommand.
#include <algorithm>
#include <cstdlib>

#include "examples/weft/input/interrupt.h"
#include "examples/weft/input/other_work.h"
#include "examples/weft/program.h"

int main(int argc, char** argv) {
  weft::cli::limit_spinning(argv);
  weft::cli::end_on_signals();
  if (argc > 0) setenv("WEFT_PROGRAM", argv[0], 0);  // ./run has set it to itself
  return weft::cli::run_program({argv + std::min(argc, 1), argv + argc});
}
