// SPDX-License-Identifier: MIT
// Units of bodies: the constant of gravity, and what lengths, times and masses are called.
#pragma once

#include <span>
#include <string_view>

namespace weft::models {

struct Units {
  std::string_view name;
  double gravity;
  std::string_view length, time, mass;  // empty where they have no name
};

// natural: G = 1. astronomical: astronomical units, Julian years of 365.25 days and solar masses; G
// is the square of Gauss's constant 0.01720209895 per day (IAU 1976). si: metres, seconds and
// kilograms, with CODATA 2018's G.
std::span<const Units> units();

}  // namespace weft::models
