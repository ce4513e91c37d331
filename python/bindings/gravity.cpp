// SPDX-License-Identifier: MIT
// The family nbody, and the simulation.
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "kernels/nbody/nbody.h"
#include "models/nbody/simulation.h"
#include "models/nbody/starts.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

void require_quads(const Call& call, const char* what, const View<const float>& quads) {
  call.require(quads[1] == 4, what, " has shape ", quads.shape, ", expected (n, 4)");
  call.require(reinterpret_cast<std::uintptr_t>(quads.data) % 16 == 0 || quads.n() == 0, what,
               " of shape ", quads.shape, " is not aligned to 16 bytes; a copy of it is");
}

Result nbody_accelerations(const Array& bodies, float softening, float gravity,
                           const std::string& variant, const nb::object& out) {
  Call call("nbody_accelerations");
  const auto quads = call.input<float>("bodies", bodies, 2);
  require_quads(call, "bodies", quads);
  float* acceleration = call.output<float>(quads.shape, out);
  const kernels::NbodyOptions options{variant, softening, gravity};
  const auto workspace =
      call.workspace(kernels::nbody_workspace_bytes(quads[0], variant, call.stream().device()));
  call.run([&](const Stream& on) {
    kernels::nbody_accelerations(acceleration, quads.data, quads[0], options, workspace, on);
  });
  return call.result();
}

Result nbody_totals(const Array& bodies, const Array& velocities, float softening, float gravity) {
  Call call("nbody_totals");
  const auto quads = call.input<float>("bodies", bodies, 2);
  require_quads(call, "bodies", quads);
  const auto speeds = call.input<float>("velocities", velocities, quads.shape);
  require_quads(call, "velocities", speeds);
  auto* totals = call.output<double>({kernels::kNbodyTotals});
  const kernels::NbodyOptions options{kernels::kAutomatic, softening, gravity};
  const auto workspace = call.workspace(
      kernels::nbody_workspace_bytes(quads[0], kernels::kAutomatic, call.stream().device()));
  call.run([&](const Stream& on) {
    kernels::nbody_totals(totals, quads.data, speeds.data, quads[0], options, workspace, on);
  });
  return call.result();
}

// Steps of a simulation, a few at a time so that it can be interrupted.
Results nbody(const Array& bodies, const Array& velocities, std::int64_t steps, float dt,
              float softening, float gravity, const std::string& variant) {
  constexpr double kInteractionsAtOnce = 1e9;
  Call call("nbody");
  const auto quads = call.input<float>("bodies", bodies, 2);
  require_quads(call, "bodies", quads);
  const auto speeds = call.input<float>("velocities", velocities, quads.shape);
  call.require(steps >= 0, "steps is ", steps, ", expected a number from 0");
  const std::int64_t n = quads[0];
  float* moved = call.output<float>(quads.shape);
  float* speed = call.output<float>(quads.shape);
  call.run([&](const Stream& on) {
    if (n == 0) return;
    models::Bodies start(n);
    const std::size_t bytes = start.position.size() * sizeof(float);
    const Device here = on.device();
    copy_bytes(start.position.data(), Device::cpu(), quads.data, here, bytes, on);
    copy_bytes(start.velocity.data(), Device::cpu(), speeds.data, here, bytes, on);
    on.synchronize();
    models::NbodySimulation simulation(start, {dt, {variant, softening, gravity}}, on);
    const auto at_once = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(kInteractionsAtOnce / kernels::nbody_interactions(n)));
    for (std::int64_t done = 0; done < steps; done += at_once) {
      simulation.advance(std::min(at_once, steps - done));
      on.synchronize();
      if (interrupted()) throw Error(ErrorKind::check_failed, "nbody: interrupted");
    }
    const models::Bodies end = simulation.bodies();
    copy_bytes(moved, here, end.position.data(), Device::cpu(), bytes, on);
    copy_bytes(speed, here, end.velocity.data(), Device::cpu(), bytes, on);
    on.synchronize();
  });
  return call.results();
}

Results plummer_sphere(std::int64_t n, std::uint64_t seed) {
  Call call("plummer_sphere");
  call.require(n >= 1 && n <= models::kMaxBodies, "n is ", n, ", expected 1 to ",
               models::kMaxBodies);
  float* bodies = call.output<float>({n, 4});
  float* velocities = call.output<float>({n, 4});
  call.run([&](const Stream& on) {
    const models::Bodies sphere = models::plummer_sphere(n, seed);
    const std::size_t bytes = sphere.position.size() * sizeof(float);
    copy_bytes(bodies, on.device(), sphere.position.data(), Device::cpu(), bytes, on);
    copy_bytes(velocities, on.device(), sphere.velocity.data(), Device::cpu(), bytes, on);
    on.synchronize();
  });
  return call.results();
}

}  // namespace

void bind_gravity(nb::module_& m) {
  m.def("nbody_accelerations", &nbody_accelerations, "bodies"_a, nb::kw_only(),
        "softening"_a = 0.01f, "gravity"_a = 1.0f, "variant"_a = "automatic", "out"_a = nb::none(),
        with_rungs("The gravity of all bodies on each one. bodies: (n, 4), float32: x, y, z, mass, "
                   "aligned to\n"
                   "16 bytes. Returns (n, 4), whose last column is 0.",
                   "nbody")
            .c_str());
  m.def("nbody_totals", &nbody_totals, "bodies"_a, "velocities"_a, nb::kw_only(),
        "softening"_a = 0.01f, "gravity"_a = 1.0f,
        "Kinetic and potential energy, momentum and angular momentum: (8,), float64.\n\n"
        "bodies, velocities: (n, 4), float32: x, y, z, mass and vx, vy, vz, 0.");
  m.def("nbody", &nbody, "bodies"_a, "velocities"_a, "steps"_a = 1, nb::kw_only(), "dt"_a = 0.01f,
        "softening"_a = 0.01f, "gravity"_a = 1.0f, "variant"_a = "automatic",
        "Steps of a leapfrog simulation: (bodies, velocities) afterwards.\n\n"
        "bodies, velocities: (n, 4), float32: x, y, z, mass and vx, vy, vz, 0. dt: a time.\n"
        "softening: a length. The same bits however the steps are divided over calls.");
  m.def("plummer_sphere", &plummer_sphere, "n"_a, "seed"_a = 1,
        "A star cluster in equilibrium, to start from: (bodies, velocities), (n, 4) each.");
}

}  // namespace weft::python
