// SPDX-License-Identifier: MIT
#include "models/nbody/bodies.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "data/arrays/npy.h"
#include "data/files/file_io.h"
#include "engine/error.h"
#include "models/nbody/bodies_csv.h"

namespace weft::models {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{2} << 30;

template <class T>
void set_bodies(Bodies& bodies, std::span<const std::byte> bytes, const std::string& where) {
  for (std::int64_t i = 0; i < bodies.count(); ++i) {
    T row[7];
    std::memcpy(row, bytes.data() + static_cast<std::size_t>(i) * sizeof(row), sizeof(row));
    double values[7];
    std::copy(std::begin(row), std::end(row), std::begin(values));
    set_body(bodies, i, values, str(where, ", row ", i));
  }
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += str(text.empty() ? "" : ", ", extent);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

Bodies bodies_from(const data::NpyArray& array, const std::string& where) {
  const bool shaped = array.shape.size() == 2 && array.shape[1] == 7;
  if (!shaped || (array.dtype != "f4" && array.dtype != "f8")) {
    throw Error(ErrorKind::data,
                str(where,
                    ": expected bodies as an (n, 7) array of f4 or f8 (x, y, z, vx, vy, vz, "
                    "mass), found ",
                    shape_text(array.shape), " of ", array.dtype));
  }
  const std::int64_t n = array.shape[0];
  if (n < 1 || n > kMaxBodies) {
    throw Error(ErrorKind::data, str(where, ": expected 1 to ", kMaxBodies, " bodies, found ", n));
  }
  Bodies bodies(n);
  if (array.dtype == "f4") {
    set_bodies<float>(bodies, array.bytes, where);
  } else {
    set_bodies<double>(bodies, array.bytes, where);
  }
  return bodies;
}

data::NpyArray array_of(const Bodies& bodies) {
  std::vector<double> rows;
  rows.reserve(7 * bodies.group.size());
  for (std::size_t i = 0; i < bodies.position.size(); i += 4) {
    const double* x = bodies.position.data() + i;
    const double* v = bodies.velocity.data() + i;
    rows.insert(rows.end(), {x[0], x[1], x[2], v[0], v[1], v[2], x[3]});
  }
  const std::span<const std::byte> bytes = std::as_bytes(std::span(rows));
  return {"f8", {bodies.count(), 7}, {bytes.begin(), bytes.end()}};
}

}  // namespace

Bodies read_bodies(const std::filesystem::path& path) {
  const std::string where = path.string();
  if (!std::filesystem::exists(path)) throw Error(ErrorKind::data, str(where, ": no such file"));
  const data::InputFile file(path);
  if (file.size() > kMaxFileBytes) {
    throw Error(ErrorKind::data,
                str(where, ": ", file.size(), " bytes, at most ", kMaxFileBytes, " are accepted"));
  }
  constexpr std::uint64_t kPartBytes = std::uint64_t{1} << 20;
  std::vector<std::byte> part;
  BodiesCsvReader csv(where);
  for (std::uint64_t at = 0; at < file.size(); at += part.size()) {
    part.resize(static_cast<std::size_t>(std::min(kPartBytes, file.size() - at)));
    file.read(part, at);
    if (at == 0 && data::is_npy(part)) return bodies_from(data::read_npy(where), where);
    if (at == 0 && path.extension() == ".npy") {
      throw Error(ErrorKind::data, str(where, ": not a .npy file: its magic number is missing"));
    }
    csv.feed({reinterpret_cast<const char*>(part.data()), part.size()});
  }
  return csv.finish();
}

void write_bodies(const data::OutputPath& to, const Bodies& bodies) {
  if (to.path().extension() == ".csv") {
    data::write_file_atomically(to, bodies_csv(bodies));
  } else {
    data::write_npy(to, array_of(bodies));
  }
}

void write_bodies_with_ids(const data::OutputPath& to, const Bodies& bodies) {
  data::write_file_atomically(to, bodies_csv(bodies, BodyIds::written));
}

MassSums mass_sums(const Bodies& bodies) {
  MassSums sums;
  const auto walk = [&](const auto& visit) {
    for (std::size_t i = 0; i < bodies.position.size(); i += 4) {
      const double* x = bodies.position.data() + i;
      visit(x, bodies.velocity.data() + i, x[3]);
    }
  };
  walk([&](const double*, const double*, double mass) { sums.mass += mass; });
  const bool weighted = sums.mass > 0;
  const double total = weighted ? sums.mass : static_cast<double>(bodies.count());
  walk([&](const double* x, const double* v, double mass) {
    const double share = (weighted ? mass : 1) / total;
    for (int axis = 0; axis < 3; ++axis) {
      sums.centre[axis] += share * x[axis];
      sums.velocity[axis] += share * v[axis];
    }
  });
  walk([&](const double* x, const double*, double mass) {
    for (int axis = 0; axis < 3; ++axis) {
      const double d = x[axis] - sums.centre[axis];
      sums.inertia += mass * d * d;
    }
  });
  return sums;
}

bool is_finite(const Bodies& bodies) {
  const auto finite = [](double value) { return std::isfinite(value); };
  return std::all_of(bodies.position.begin(), bodies.position.end(), finite) &&
         std::all_of(bodies.velocity.begin(), bodies.velocity.end(), finite);
}

void centre(Bodies& bodies) {
  const MassSums sums = mass_sums(bodies);
  for (std::size_t i = 0; i < bodies.position.size(); ++i) {
    const std::size_t axis = i % 4;
    if (axis == 3) continue;
    bodies.position[i] -= sums.centre[axis];
    bodies.velocity[i] -= sums.velocity[axis];
  }
}

}  // namespace weft::models
