// SPDX-License-Identifier: MIT
// Bodies in host memory, and their files: .npy, and CSV in the forms that people and programs
// write.
//
// A row of a file is x y z vx vy vz mass. A .npy file holds (n, 7) of f4 or f8. A CSV file holds
// numbers separated by commas, semicolons or spaces; lines that begin with # and empty lines are
// skipped; a first line of the seven names, in any order, names the columns, and a column "id" may
// be among them, which is passed over. Positions and velocities must be finite as floats, which
// forces are computed from; so must masses, which must not be negative. A mass of 0 makes a test
// particle. Everything that is wrong with a file is Error{data} in one line, with the row.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/files/file_io.h"

namespace weft::models {

inline constexpr std::int64_t kMaxBodies = std::int64_t{1} << 24;

struct Bodies {
  Bodies() = default;
  explicit Bodies(std::int64_t n)
      : position(static_cast<std::size_t>(4 * n)),
        velocity(static_cast<std::size_t>(4 * n)),
        group(static_cast<std::size_t>(n)) {}

  std::int64_t count() const { return static_cast<std::int64_t>(group.size()); }

  std::vector<double> position;  // (n, 4): x, y, z, mass
  std::vector<double> velocity;  // (n, 4): vx, vy, vz, 0
  std::vector<float> group;      // (n,): 0, 1, ...: the galaxy that a body began in
};

// The format is told by the content, and when writing by the extension: .csv, else .npy (f8).
// Doubles survive the round trip exactly; groups are not stored.
Bodies read_bodies(const std::filesystem::path& path);
void write_bodies(const data::OutputPath& to, const Bodies& bodies);
// A CSV file with the row of each body as its id, 0 and on.
void write_bodies_with_ids(const data::OutputPath& to, const Bodies& bodies);

// Sums over all bodies, in double.
struct MassSums {
  double mass = 0;
  double centre[3] = {};    // of mass; of the positions when there is no mass
  double velocity[3] = {};  // of the centre of mass, likewise
  double inertia = 0;       // sum of m |x - centre|^2
};
MassSums mass_sums(const Bodies& bodies);
bool is_finite(const Bodies& bodies);
// Moves the centre of mass to the origin and to rest.
void centre(Bodies& bodies);

}  // namespace weft::models
