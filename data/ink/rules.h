// SPDX-License-Identifier: MIT
// The printed lines of ruled and squared paper. Internal to ink.cpp.
#pragma once

#include "data/ink/ground.h"

namespace weft::data {

// Takes the lines out of a plane of ink. Where a stroke crosses a line, the stroke stays.
void remove_rules(Plane& ink);

}  // namespace weft::data
