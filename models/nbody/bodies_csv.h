// SPDX-License-Identifier: MIT
// The text form of bodies: see bodies.h.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "models/nbody/bodies.h"

namespace weft::models {

inline constexpr std::string_view kBodyColumns[7] = {"x", "y", "z", "vx", "vy", "vz", "mass"};

// Stores a row x y z vx vy vz mass as body `index`. Error{data}, prefixed by `where`, for values
// that no body can have.
void set_body(Bodies& bodies, std::int64_t index, const double (&row)[7], const std::string& where);

// Reads text that arrives in parts cut anywhere. Errors name the line; one that is longer than any
// line of numbers is refused when it gets there, however long it may be.
class BodiesCsvReader {
 public:
  explicit BodiesCsvReader(std::string where) : where_(std::move(where)) {}

  void feed(std::string_view text);
  Bodies finish();

 private:
  void line(std::string_view line);
  void check_length(std::size_t bytes) const;

  std::string where_;
  std::string begun_;  // a line that the last part cut off
  std::int64_t line_number_ = 0;
  bool first_ = true;
  std::array<std::size_t, 7> order_{0, 1, 2, 3, 4, 5, 6};  // where each of kBodyColumns stands
  std::size_t columns_ = 7;                                // 8 with an id
  Bodies bodies_;
};

Bodies parse_bodies_csv(std::string_view text, const std::string& where);
enum class BodyIds { left_out, written };
std::string bodies_csv(const Bodies& bodies, BodyIds ids = BodyIds::left_out);

}  // namespace weft::models
