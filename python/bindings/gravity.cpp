// SPDX-License-Identifier: MIT
// The family nbody, and the simulation.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <type_traits>

#include "kernels/nbody/nbody.h"
#include "models/nbody/simulation.h"
#include "models/nbody/starts.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

template <class T>
void require_quads(const Call& call, const char* what, const View<const T>& quads) {
  call.require(quads[1] == 4, what, " has shape ", quads.shape, ", expected (n, 4)");
  call.require(reinterpret_cast<std::uintptr_t>(quads.data) % 16 == 0 || quads.n() == 0, what,
               " of shape ", quads.shape, " is not aligned to 16 bytes; a copy of it is");
}

template <class T>  // float or double
std::vector<double> to_doubles(const TensorView<const T>& values, const Stream& stream) {
  const std::vector<T> host = to_host(values, stream);
  return {host.begin(), host.end()};
}

template <class T>
void copy_to(const TensorView<T>& out, const std::vector<double>& values, const Stream& stream) {
  std::vector<T> host;
  for (const double value : values) host.push_back(static_cast<T>(value));
  copy_from_host(out, host, stream);
}

// Runs body(T{}) with T double for bodies in float64, else float.
template <class Body>
auto of_dtype(const Array& bodies, const Body& body) {
  const bool in_double = bodies.is_valid() && bodies.dtype() == nb::dtype<double>();
  return in_double ? body(double{}) : body(float{});
}

Result nbody_accelerations(const Array& bodies, double softening, double gravity,
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

Result nbody_totals(const Array& bodies, const Array& velocities, double softening,
                    double gravity) {
  return of_dtype(bodies, [&]<class T>(T) {
    Call call("nbody_totals");
    const auto quads = call.input<T>("bodies", bodies, 2);
    require_quads(call, "bodies", quads);
    const auto speeds = call.input<T>("velocities", velocities, quads.shape);
    require_quads(call, "velocities", speeds);
    auto* totals = call.output<double>({kernels::kNbodyTotals});
    const kernels::NbodyOptions options{kernels::kAutomatic, softening, gravity};
    const std::int64_t n = quads[0];
    const auto workspace = call.workspace(
        kernels::nbody_workspace_bytes(n, kernels::kAutomatic, call.stream().device()));
    call.run([&](const Stream& on) {
      if constexpr (std::is_same_v<T, float>) {
        kernels::nbody_totals(totals, quads.data, speeds.data, n, options, workspace, on);
      } else {
        kernels::nbody_totals_wide(totals, quads.data, speeds.data, {n}, {0, n}, options, workspace,
                                   on);
      }
    });
    return call.result();
  });
}

// Steps of a simulation, a few at a time so that it can be interrupted.
ResultsOf<2> nbody(const Array& bodies, const Array& velocities, std::int64_t steps, double dt,
                   double softening, double gravity, const std::string& variant) {
  constexpr double kInteractionsAtOnce = 1e9, kInteractionsOfAStep = 1e3;  // for its overhead
  return of_dtype(bodies, [&]<class T>(T) {
    Call call("nbody");
    const auto quads = call.input<T>("bodies", bodies, 2);
    require_quads(call, "bodies", quads);
    const auto speeds = call.input<T>("velocities", velocities, quads.shape);
    call.require(steps >= 0, "steps is ", steps, ", expected a number from 0");
    const std::int64_t n = quads[0];
    T* moved = call.output<T>(quads.shape);
    T* speed = call.output<T>(quads.shape);
    call.run([&](const Stream& on) {
      if (n == 0) return;
      const Device here = on.device();
      models::Bodies start(n);
      start.position = to_doubles(TensorView<const T>{quads.data, quads.shape, here}, on);
      start.velocity = to_doubles(TensorView<const T>{speeds.data, quads.shape, here}, on);
      models::NbodySimulation simulation(start, {dt, {variant, softening, gravity}}, on);
      const double work = kernels::nbody_interactions(n) + kInteractionsOfAStep;
      const auto at_once =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(kInteractionsAtOnce / work));
      for (std::int64_t done = 0; done < steps; done += at_once) {
        simulation.advance(std::min(at_once, steps - done));
        on.synchronize();
        if (interrupted()) throw Error(ErrorKind::check_failed, "nbody: interrupted");
      }
      const models::Bodies end = simulation.bodies();
      copy_to(TensorView<T>{moved, quads.shape, here}, end.position, on);
      copy_to(TensorView<T>{speed, quads.shape, here}, end.velocity, on);
    });
    return call.results();
  });
}

ResultsOf<2> plummer_sphere(std::int64_t n, std::uint64_t seed) {
  Call call("plummer_sphere");
  call.require(n >= 1 && n <= models::kMaxBodies, "n is ", n, ", expected 1 to ",
               models::kMaxBodies);
  float* bodies = call.output<float>({n, 4});
  float* velocities = call.output<float>({n, 4});
  call.run([&](const Stream& on) {
    const models::Bodies sphere = models::plummer_sphere(n, seed);
    copy_to(TensorView<float>{bodies, {n, 4}, on.device()}, sphere.position, on);
    copy_to(TensorView<float>{velocities, {n, 4}, on.device()}, sphere.velocity, on);
  });
  return call.results();
}

}  // namespace

void bind_gravity(nb::module_& m) {
  m.def("nbody_accelerations", &nbody_accelerations, "bodies"_a, nb::kw_only(),
        "softening"_a = 0.01, "gravity"_a = 1.0, "variant"_a = "automatic", "out"_a = nb::none(),
        with_rungs("The gravity of all bodies on each one. bodies: (n, 4), float32: x, y, z, mass, "
                   "aligned to\n"
                   "16 bytes. Returns (n, 4), whose last column is 0.",
                   "nbody")
            .c_str());
  m.def("nbody_totals", &nbody_totals, "bodies"_a, "velocities"_a, nb::kw_only(),
        "softening"_a = 0.01, "gravity"_a = 1.0,
        "Kinetic and potential energy, momentum and angular momentum: (8,), float64.\n\n"
        "bodies, velocities: (n, 4), float32 or float64: x, y, z, mass and vx, vy, vz, 0.");
  m.def("nbody", &nbody, "bodies"_a, "velocities"_a, "steps"_a = 1, nb::kw_only(), "dt"_a = 0.01,
        "softening"_a = 0.01, "gravity"_a = 1.0, "variant"_a = "automatic",
        "Steps of a leapfrog simulation: (bodies, velocities) afterwards.\n\n"
        "bodies, velocities: (n, 4), float32 or float64, as are the results: x, y, z, mass and\n"
        "vx, vy, vz, 0. dt: a time. softening: a length. Positions and velocities are float64 "
        "inside.\n"
        "Forces are float32; with the automatic variant those of up to 64 bodies are float64.\n"
        "Of float64 arrays the bits are the same however the steps are divided over calls.");
  m.def("plummer_sphere", &plummer_sphere, "n"_a, "seed"_a = 1,
        "A star cluster in equilibrium, to start from: (bodies, velocities), (n, 4) each.");
}

}  // namespace weft::python
