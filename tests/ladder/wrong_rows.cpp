// SPDX-License-Identifier: MIT
// Tables that must not compile, one for each value of WRONG; 0 is right. See wrong_rows.cmake.
#include "kernels/ladder.h"

namespace weft::kernels::cuda {

using Square = void(int n);

struct Row {
  using Problem = int;
  Rung rung;
  Launcher<Square> launch = {};
  constexpr bool complete() const {
    return rung.on_cuda == static_cast<bool>(launch) && launch.belongs_to("square_", rung.name);
  }
  std::string takes(const int&, Device) const { return ""; }
};

constexpr Row kRows[] = {
    {.rung = {.name = "naive", .summary = "one thread", .prefer = "never"},
#if WRONG == 1  // the launchers of two rows are swapped
     .launch = WEFT_LAUNCHER(Square, square_tiled)},
#elif WRONG == 2  // a row has no launcher
    },
#else
     .launch = WEFT_LAUNCHER(Square, square_naive)},
#endif
    {.rung = {.name =
#if WRONG == 3  // two rows have one name
                  "naive",
#else
                  "tiled",
#endif
              .summary = "a tile",
#if WRONG != 4  // a row says when to prefer it
              .prefer = "always",
#endif
              .on_cpu = true},
#if WRONG == 1
     .launch = WEFT_LAUNCHER(Square, square_naive)},
#elif WRONG == 3
     .launch = WEFT_LAUNCHER(Square, square_naive)},
#else
     .launch = WEFT_LAUNCHER(Square, square_tiled)},
#endif
};

Choice automatic(const int&, Device) {
  return {"tiled", "it is the only one"};
}

constexpr Ladder kLadder("square", kRows, automatic);

Rungs square_rungs() {
  return kLadder.rungs();
}

}  // namespace weft::kernels::cuda
