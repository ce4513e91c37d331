// SPDX-License-Identifier: MIT
// The text form of bodies: see bodies.h.
#pragma once

#include <string>
#include <string_view>

#include "models/nbody/bodies.h"

namespace weft::models {

inline constexpr std::string_view kBodyColumns[7] = {"x", "y", "z", "vx", "vy", "vz", "mass"};

// Stores a row x y z vx vy vz mass as body `index`. Error{data}, prefixed by `where`, for values
// that no body can have.
void set_body(Bodies& bodies, std::int64_t index, const double (&row)[7], const std::string& where);

Bodies parse_bodies_csv(std::string_view text, const std::string& where);
std::string bodies_csv(const Bodies& bodies);

}  // namespace weft::models
