// SPDX-License-Identifier: MIT
// The table of the rungs of n-body, and the validation and dispatch of a call.
#include "kernels/nbody/nbody.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "kernels/checks.h"
#include "kernels/nbody/cpu/table.h"
#include "kernels/nbody/launchers.h"

namespace weft::kernels {
namespace cuda {

struct NbodyRow {
  using Problem = NbodyProblem;

  Rung rung;
  Launcher<NbodyLauncher> launcher = {};
  int floats_per_body = 0;                  // of workspace on a GPU, or
  Launcher<NbodyWorkspace> workspace = {};  // what depends on the device
  Launcher<NbodyPartLauncher> part = {};    // for ranks that share the targets, or
  Launcher<NbodyPairsLauncher> pairs = {};  // the pairs
  bool in_vectors = false;  // on a CPU: arrays of coordinates, else the loops as written
  int bodies_of_load = 0;   // that one load of a body serves, where that is known

  constexpr bool complete() const {
    return rung.on_cuda == static_cast<bool>(launcher) &&
           launcher.belongs_to("nbody_", rung.name) &&
           workspace.belongs_to("nbody_workspace_", rung.name) &&
           part.belongs_to("nbody_part_", rung.name) && pairs.belongs_to("nbody_pairs_", rung.name);
  }
  NbodySplit split(Device device) const {
    if (device.is_cpu()) return in_vectors ? NbodySplit::targets : NbodySplit::none;
    return part ? NbodySplit::targets : pairs ? NbodySplit::pairs : NbodySplit::none;
  }
  std::string takes(const NbodyProblem& problem, Device device) const {
    if (problem.ranks == 1 || split(device) != NbodySplit::none) return "";
    return str("it does not share its work among ", problem.ranks, " ranks");
  }
};

#define WEFT_NBODY(name) WEFT_LAUNCHER(NbodyLauncher, name)
#define WEFT_WORKSPACE(name) WEFT_LAUNCHER(NbodyWorkspace, name)

constexpr NbodyRow kNbodyRows[] = {
    {.rung = {.name = "array_of_structs",
              .summary =
                  "bodies as records of seven floats: four loads of 4 bytes for each interaction",
              .prefer = "to see what records cost"},
     .launcher = WEFT_NBODY(nbody_array_of_structs),
     .floats_per_body = 7,
     .bodies_of_load = 1},
    {.rung = {.name = "struct_of_arrays",
              .summary = "one array for each coordinate: neighbours load neighbours, on the CPU in "
                         "vectors",
              .prefer = "on a CPU",
              .on_cpu = true},
     .launcher = WEFT_NBODY(nbody_struct_of_arrays),
     .floats_per_body = 4,
     .in_vectors = true,
     .bodies_of_load = 1},
    {.rung = {.name = "naive",
              .summary = "one thread per body, which reads all others as quads of 16 bytes",
              .prefer = "to check a result, or to read first",
              .on_cpu = true},
     .launcher = WEFT_NBODY(nbody_naive),
     .bodies_of_load = 1},
    {.rung = {.name = "shared_tiles",
              .summary = "a block stages a tile of bodies in shared memory for all of its threads",
              .prefer = "to see what shared memory gains"},
     .launcher = WEFT_NBODY(nbody_shared_tiles),
     .bodies_of_load = 256},
    {.rung = {.name = "register_tiled",
              .summary =
                  "a thread owns up to eight bodies: one shared load serves eight interactions",
              .prefer = "for fewer than 32768 bodies"},
     .launcher = WEFT_NBODY(nbody_register_tiled),
     .workspace = WEFT_WORKSPACE(nbody_workspace_register_tiled),
     .part = WEFT_LAUNCHER(NbodyPartLauncher, nbody_part_register_tiled),
     .bodies_of_load = 1024},
    {.rung = {.name = "constant_memory",
              .summary = "the others come from constant memory, as operands that cost no register",
              .prefer = "to see operands from constant memory",
              .needs = "one stream at a time"},
     .launcher = WEFT_NBODY(nbody_constant_memory),
     .floats_per_body = 8},
    {.rung = {.name = "pair_symmetric",
              .summary = "Newton's third law: a pair is computed once and moves both of its bodies",
              .prefer = "for 32768 bodies and more"},
     .launcher = WEFT_NBODY(nbody_pair_symmetric),
     .workspace = WEFT_WORKSPACE(nbody_workspace_pair_symmetric),
     .pairs = WEFT_LAUNCHER(NbodyPairsLauncher, nbody_pairs_pair_symmetric)},
};

#undef WEFT_NBODY
#undef WEFT_WORKSPACE

}  // namespace cuda

namespace {

// A tile of pair_symmetric is wasted on fewer bodies than this. A rank of several has as much to do
// as one with the root of its share in the interactions.
constexpr std::int64_t kSymmetricBodies = 32768;

Choice automatic(const NbodyProblem& problem, Device device) {
  if (device.is_cpu()) return {"struct_of_arrays", "vectors of the CPU"};
  const double bodies = static_cast<double>(problem.n) / std::sqrt(problem.ranks);
  if (bodies >= static_cast<double>(kSymmetricBodies)) {
    return {"pair_symmetric", "from 32768 bodies on its tiles fill a GPU"};
  }
  return {"register_tiled", "it splits few bodies over more blocks"};
}

constexpr Ladder kLadder("nbody", cuda::kNbodyRows, automatic);

void check(std::string_view where, std::int64_t n, const NbodyOptions& options) {
  static_cast<void>(checked_elements(where, {n, 16}));
  if (!(options.softening >= 1e-12f && options.softening <= 1e12)) {  // also catches NaN
    throw Error(ErrorKind::usage,
                str(where, ": softening must lie in [1e-12, 1e12], found ", options.softening));
  }
  check_finite(where, "gravity", options.gravity);
}

// n quads (x, y, z and one more). Those of floats are aligned to 16 bytes.
template <class T>
Argument quads(const char* name, T* data, std::int64_t n) {
  return dense_argument(name, data, 4 * n, sizeof(T), !std::is_const_v<T>)
      .aligned_to(sizeof(T) == sizeof(float) ? 16 : sizeof(T));
}

std::size_t workspace_bytes(const cuda::NbodyRow& row, const NbodyProblem& problem, Device device) {
  const std::int64_t n = problem.n;
  if (n == 0) return 0;
  if (device.is_cuda()) {
    const std::size_t bytes =
        row.workspace ? row.workspace.run(problem, device)
                      : static_cast<std::size_t>(n * row.floats_per_body) * sizeof(float);
    return std::max(bytes, WEFT_CUDA(cuda::nbody_totals_bytes)(n));
  }
  const std::size_t totals = static_cast<std::size_t>(nbody_totals_scratch(n)) * sizeof(double);
  if (!row.in_vectors) return totals;
  const std::int64_t floats = select_nbody_cpu().struct_of_arrays_scratch(n);
  return std::max(totals, static_cast<std::size_t>(floats) * sizeof(float));
}

cuda::NbodyForceWide wide_force(const NbodyOptions& options) {
  return {options.softening * options.softening, options.gravity};
}

cuda::NbodyForce force_of(const NbodyOptions& options) {
  const auto [softening2, gravity] = wide_force(options);
  return {static_cast<float>(softening2), static_cast<float>(gravity)};
}

// What a call needs: the row that runs it, and its part of the workspace.
struct Checked {
  const cuda::NbodyRow& row;
  Argument workspace;
};

// Validates all of a call but its pointers.
Checked checked(std::string_view where, const NbodyProblem& problem, const NbodyOptions& options,
                Workspace workspace, Device device) {
  check(where, problem.n, options);
  if (problem.ranks < 1) throw Error(ErrorKind::usage, str(where, ": ", problem.ranks, " ranks"));
  const cuda::NbodyRow& row = kLadder.select(options.variant, problem, device);
  const std::size_t needed = workspace_bytes(row, problem, device);
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage, str(where, ": ", problem.n, " bodies need ", needed,
                                      " bytes of workspace, found ", workspace.bytes));
  }
  return {row, scratch(workspace, needed)};
}

// The row of a call that does a rank's share.
Checked checked(std::string_view where, const NbodyProblem& problem, const NbodyOptions& options,
                Workspace workspace, Device device, NbodySplit split) {
  const Checked c = checked(where, problem, options, workspace, device);
  if (c.row.split(device) == split) return c;
  throw Error(ErrorKind::usage, str(where, ": ", c.row.rung.name, " does not share its work so"));
}

// Throws usage for a range that n bodies do not have. One that `wraps` may go on with body 0.
void check(std::string_view where, const NbodyRange& range, std::int64_t n, bool wraps) {
  const auto [first, count] = range;
  if (first >= 0 && first <= n && count >= 0 && count <= (wraps ? n : n - first)) return;
  throw Error(ErrorKind::usage, str(where, ": found the range of ", count, " bodies from ", first,
                                    ", expected a part of ", n));
}

template <class T>  // float or double
void totals_of(std::string_view where, double* totals, const T* bodies, const T* velocity,
               const NbodyProblem& problem, const NbodyRange& range, const NbodyOptions& options,
               Workspace workspace, const Stream& stream) {
  const Checked call = checked(where, problem, options, workspace, stream.device());
  check(where, range, problem.n, false);
  constexpr const char* kBodies = std::is_same_v<T, float> ? "bodies" : "position";
  check_call(where, stream,
             {writes("totals", totals, kNbodyTotals), quads(kBodies, bodies, problem.n),
              quads("velocity", velocity, range.count), call.workspace});
  const cuda::NbodyForceWide force = wide_force(options);
  if (stream.device().is_cuda()) {
    return WEFT_CUDA(cuda::nbody_totals<T>)(totals, bodies, velocity, problem.n, range, force,
                                            workspace.data, stream);
  }
  const NbodyCpu& cpu = select_nbody_cpu();
  const auto run = [&](const auto& function) {
    function(totals, bodies, velocity, problem.n, range, force.softening2, force.gravity,
             static_cast<double*>(workspace.data));
  };
  if constexpr (std::is_same_v<T, float>) {
    run(cpu.totals);
  } else {
    run(cpu.totals_wide);
  }
}

}  // namespace

std::size_t nbody_workspace_bytes(const NbodyProblem& problem, std::string_view variant,
                                  Device device) {
  static_cast<void>(checked_elements("nbody_workspace_bytes", {problem.n, 16}));
  return workspace_bytes(kLadder.select(variant, problem, device), problem, device);
}

void nbody_accelerations(float* acceleration, const float* bodies, std::int64_t n,
                         const NbodyOptions& options, Workspace workspace, const Stream& stream) {
  constexpr std::string_view kWhere = "nbody_accelerations";
  const auto& [row, scratch] = checked(kWhere, {n}, options, workspace, stream.device());
  if (n == 0) return;
  check_call(kWhere, stream,
             {quads("acceleration", acceleration, n), quads("bodies", bodies, n), scratch});
  const cuda::NbodyForce force = force_of(options);
  if (stream.device().is_cuda()) {
    return row.launcher.run(acceleration, bodies, n, force, workspace.data, stream);
  }
  const NbodyCpu& cpu = select_nbody_cpu();
  if (!row.in_vectors) return cpu.naive(acceleration, bodies, n, force.softening2, force.gravity);
  cpu.struct_of_arrays(acceleration, bodies, n, {{0, n}, {0, n}}, force.softening2, force.gravity,
                       static_cast<float*>(workspace.data));
}

void nbody_part(float* acceleration, const float* bodies, const NbodyProblem& problem,
                const NbodyPart& part, const NbodyOptions& options, Workspace workspace,
                const Stream& stream) {
  constexpr std::string_view kWhere = "nbody_part";
  const Device device = stream.device();
  check_mode(kWhere, part.mode);
  const auto& [row, scratch] =
      checked(kWhere, problem, options, workspace, device, NbodySplit::targets);
  const std::int64_t n = problem.n, most = divide_up(n, problem.ranks);
  check(kWhere, part.targets, n, false);
  check(kWhere, part.sources, n, true);
  if (part.targets.count > most) {
    throw Error(ErrorKind::usage, str(kWhere, ": ", part.targets.count, " targets, expected ", most,
                                      " at most for one of ", problem.ranks, " ranks"));
  }
  if (part.targets.count == 0) return;
  check_call(kWhere, stream,
             {quads("acceleration", acceleration, part.targets.count), quads("bodies", bodies, n),
              scratch});
  if (part.sources.count == 0) {
    const auto bytes = static_cast<std::size_t>(part.targets.count) * 4 * sizeof(float);
    if (part.mode == GradientMode::overwrite) zero_bytes(acceleration, bytes, stream);
    return;
  }
  const cuda::NbodyForce force = force_of(options);
  if (device.is_cuda()) {
    return row.part.run(acceleration, bodies, problem, part, force, workspace.data, stream);
  }
  select_nbody_cpu().struct_of_arrays(acceleration, bodies, n, part, force.softening2,
                                      force.gravity, static_cast<float*>(workspace.data));
}

void nbody_pairs(float* acceleration, const float* bodies, const NbodyProblem& problem, int rank,
                 const NbodyOptions& options, Workspace workspace, const Stream& stream) {
  constexpr std::string_view kWhere = "nbody_pairs";
  const auto& [row, scratch] =
      checked(kWhere, problem, options, workspace, stream.device(), NbodySplit::pairs);
  if (rank < 0 || rank >= problem.ranks) {
    throw Error(ErrorKind::usage, str(kWhere, ": rank ", rank, " of ", problem.ranks));
  }
  if (problem.n == 0) return;
  check_call(kWhere, stream,
             {quads("acceleration", acceleration, problem.n), quads("bodies", bodies, problem.n),
              scratch});
  row.pairs.run(acceleration, bodies, problem, rank, force_of(options), workspace.data, stream);
}

void nbody_advance(float* bodies, float* velocity, const float* acceleration, std::int64_t n,
                   float kick, float drift, const Stream& stream) {
  constexpr std::string_view kWhere = "nbody_advance";
  check_finite(kWhere, "kick", kick);
  check_finite(kWhere, "drift", drift);
  if (checked_elements(kWhere, {n, 16}) == 0) return;
  check_call(kWhere, stream,
             {quads("bodies", bodies, n), quads("velocity", velocity, n),
              quads("acceleration", acceleration, n)});
  if (stream.device().is_cuda()) {
    return WEFT_CUDA(cuda::nbody_advance)(bodies, velocity, acceleration, n, kick, drift, stream);
  }
  select_nbody_cpu().advance(bodies, velocity, acceleration, n, kick, drift);
}

void nbody_advance_wide(double* position, double* velocity, float* bodies,
                        const float* acceleration, std::int64_t n, double kick, double drift,
                        const Stream& stream) {
  constexpr std::string_view kWhere = "nbody_advance_wide";
  check_finite(kWhere, "kick", kick);
  check_finite(kWhere, "drift", drift);
  if (checked_elements(kWhere, {n, 32}) == 0) return;
  check_call(kWhere, stream,
             {quads("position", position, n), quads("velocity", velocity, n),
              quads("bodies", bodies, n), quads("acceleration", acceleration, n)});
  if (stream.device().is_cuda()) {
    return WEFT_CUDA(cuda::nbody_advance_wide)(position, velocity, bodies, acceleration, n, kick,
                                               drift, stream);
  }
  select_nbody_cpu().advance_wide(position, velocity, bodies, acceleration, n, kick, drift);
}

void nbody_few_steps(double* position, double* velocity, std::int64_t n, std::int64_t steps,
                     double dt, const NbodyOptions& options, const Stream& stream) {
  check("nbody_few_steps", n, options);
  check_finite("nbody_few_steps", "dt", dt);
  if (n > kNbodyFew || steps < 0) {
    throw Error(ErrorKind::usage, str("nbody_few_steps: expected at most ", kNbodyFew,
                                      " bodies, found ", n, "; and no steps < 0, found ", steps));
  }
  if (n == 0) return;
  check_call("nbody_few_steps", stream,
             {quads("position", position, n), quads("velocity", velocity, n)});
  const cuda::NbodyForceWide force = wide_force(options);
  if (stream.device().is_cuda()) {
    return WEFT_CUDA(cuda::nbody_few_steps)(position, velocity, n, steps, dt, force, stream);
  }
  select_nbody_cpu().few_steps(position, velocity, n, steps, dt, force.softening2, force.gravity);
}

void nbody_step(float* bodies, float* velocity, float* acceleration, std::int64_t n, float dt,
                const NbodyOptions& options, Workspace workspace, const Stream& stream) {
  check_finite("nbody_step", "dt", dt);
  const Checked call = checked("nbody_step", {n}, options, workspace, stream.device());
  check_call("nbody_step", stream,
             {quads("bodies", bodies, n), quads("velocity", velocity, n),
              quads("acceleration", acceleration, n), call.workspace});
  nbody_advance(bodies, velocity, acceleration, n, dt / 2, dt, stream);
  nbody_accelerations(acceleration, bodies, n, options, workspace, stream);
  nbody_advance(bodies, velocity, acceleration, n, dt / 2, 0, stream);
}

void nbody_totals(double* totals, const float* bodies, const float* velocity, std::int64_t n,
                  const NbodyOptions& options, Workspace workspace, const Stream& stream) {
  totals_of("nbody_totals", totals, bodies, velocity, {n}, {0, n}, options, workspace, stream);
}

void nbody_totals_part(double* totals, const float* bodies, const float* velocity,
                       const NbodyProblem& problem, const NbodyRange& range,
                       const NbodyOptions& options, Workspace workspace, const Stream& stream) {
  totals_of("nbody_totals_part", totals, bodies, velocity, problem, range, options, workspace,
            stream);
}

void nbody_totals_wide(double* totals, const double* position, const double* velocity,
                       const NbodyProblem& problem, const NbodyRange& range,
                       const NbodyOptions& options, Workspace workspace, const Stream& stream) {
  totals_of("nbody_totals_wide", totals, position, velocity, problem, range, options, workspace,
            stream);
}

NbodySplit nbody_split(std::string_view variant, const NbodyProblem& problem, Device device) {
  return kLadder.select(variant, problem, device).split(device);
}

int nbody_bodies_of_load(std::string_view rung) {
  return kLadder.of(rung, &cuda::NbodyRow::bodies_of_load);
}

Rungs nbody_rungs() {
  return kLadder.rungs();
}

bool nbody_takes(std::string_view variant, const NbodyProblem& problem, Device device) {
  return kLadder.takes(variant, problem, device);
}

Choice nbody_choice(const NbodyProblem& problem, Device device) {
  return kLadder.choose(problem, device);
}

}  // namespace weft::kernels
