// SPDX-License-Identifier: MIT
// Long work that ends early because it was asked to.
#pragma once

#include <string>

#include "engine/error.h"

namespace weft {

// What long work throws when it was asked to end before it was done.
class Stopped : public Error {
 public:
  explicit Stopped(const std::string& message) : Error(ErrorKind::check_failed, message) {}
};

// A function that says whether work shall end.
using StopQuestion = bool (*)();

// host-cuda asks `asked` each time that the threads of a grid take turns, and throws Stopped when
// it says yes. Null, as at the start: nobody is asked. Returns what was set before. Kernels on a
// GPU and on the CPU do not ask.
StopQuestion set_stop(StopQuestion asked);

}  // namespace weft
