// SPDX-License-Identifier: MIT
// weft: trains digit classifiers and reads images with them. One file per subcommand.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "examples/weft/input/interrupt.h"
#include "examples/weft/program.h"

namespace {

// Idle threads of GCC's OpenMP spin for milliseconds before they sleep, which starves the working
// ones when other programs use the cores too (measured: a tenth of the speed and less). A short
// spin costs an idle machine nothing, but can only be asked for before a program starts.
void limit_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "2000", 1);
  execv("/proc/self/exe", argv);  // goes on as it is where that fails
}

}  // namespace

int main(int argc, char** argv) {
  limit_spinning(argv);
  weft::cli::end_on_signals();
  if (argc > 0) setenv("WEFT_PROGRAM", argv[0], 0);  // ./run has set it to itself
  return weft::cli::run_program({argv + std::min(argc, 1), argv + argc});
}
