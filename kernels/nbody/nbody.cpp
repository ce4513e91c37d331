// SPDX-License-Identifier: MIT
// Validation, the table of variants and dispatch of the n-body kernels.
#include "kernels/nbody/nbody.h"

#include <array>
#include <string>

#include "kernels/checks.h"
#include "kernels/choices.h"
#include "kernels/nbody/cpu_table.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/nbody/cuda.h"
#endif

namespace weft::kernels {
namespace {

struct Row {
  NbodyVariant variant;
  VariantInfo info;
};

constexpr std::array<Row, 7> kRows{{
    {NbodyVariant::array_of_structs,
     {.name = "array_of_structs",
      .summary = "bodies as records of seven floats: four loads of 4 bytes for each interaction",
      .on_cuda = true}},
    {NbodyVariant::struct_of_arrays,
     {.name = "struct_of_arrays",
      .summary = "one array for each coordinate: neighbours load neighbours, on the CPU in vectors",
      .on_cpu = true,
      .on_cuda = true}},
    {NbodyVariant::naive,
     {.name = "naive",
      .summary = "one thread per body, which reads all others as quads of 16 bytes",
      .on_cpu = true,
      .on_cuda = true}},
    {NbodyVariant::shared_tiles,
     {.name = "shared_tiles",
      .summary = "a block stages a tile of bodies in shared memory for all of its threads",
      .on_cuda = true}},
    {NbodyVariant::register_tiled,
     {.name = "register_tiled",
      .summary = "a thread owns up to eight bodies: one shared load serves eight interactions",
      .on_cuda = true}},
    {NbodyVariant::constant_memory,
     {.name = "constant_memory",
      .summary = "the others come from constant memory, as operands that cost no register",
      .on_cuda = true}},
    {NbodyVariant::pair_symmetric,
     {.name = "pair_symmetric",
      .summary = "Newton's third law: a pair is computed once and moves both of its bodies",
      .on_cuda = true}},
}};

constexpr auto kInfos = [] {
  std::array<VariantInfo, kRows.size()> infos{};
  for (std::size_t i = 0; i < kRows.size(); ++i) infos[i] = kRows[i].info;
  return infos;
}();

// A tile of pair_symmetric is wasted on fewer bodies than this.
constexpr std::int64_t kSymmetricBodies = 32768;

Chosen<NbodyVariant> automatic(std::int64_t n, Device device) {
  if (device.is_cpu()) return {NbodyVariant::struct_of_arrays, "vectors of the CPU"};
  if (n >= kSymmetricBodies) {
    return {NbodyVariant::pair_symmetric, "from 32768 bodies on its tiles fill a GPU"};
  }
  return {NbodyVariant::register_tiled, "it splits few bodies over more blocks"};
}

// The variant that runs; throws when this device has it not.
NbodyVariant resolved(NbodyVariant variant, std::int64_t n, Device device) {
  if (variant == NbodyVariant::automatic) return automatic(n, device).variant;
  for (const auto& [row, info] : kRows) {
    if (row != variant) continue;
    if (device.is_cpu() ? info.on_cpu : info.on_cuda) return variant;
    throw Error(ErrorKind::usage, str("nbody variant ", info.name, " does not run on ", device));
  }
  throw Error(ErrorKind::usage, "unknown nbody variant");
}

void check(std::string_view where, std::int64_t n, const NbodyOptions& options) {
  static_cast<void>(checked_elements(where, {n, 16}));
  if (!(options.softening >= 1e-12f && options.softening <= 1e12f)) {  // also catches NaN
    throw Error(ErrorKind::usage,
                str(where, ": softening must lie in [1e-12, 1e12], found ", options.softening));
  }
}

void check_workspace(std::string_view where, std::int64_t n, NbodyVariant variant,
                     Workspace workspace, Device device) {
  const std::size_t needed = nbody_workspace_bytes(n, variant, device);
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage, str(where, ": ", n, " bodies need ", needed,
                                      " bytes of workspace, found ", workspace.bytes));
  }
}

}  // namespace

std::size_t nbody_workspace_bytes(std::int64_t n, NbodyVariant variant, Device device) {
  static_cast<void>(checked_elements("nbody_workspace_bytes", {n, 16}));
  variant = resolved(variant, n, device);
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) return n == 0 ? 0 : cuda::nbody_workspace_bytes(n, variant, device);
#endif
  const std::size_t totals = static_cast<std::size_t>(nbody_totals_scratch(n)) * sizeof(double);
  if (variant != NbodyVariant::struct_of_arrays) return totals;
  const std::int64_t floats = select_nbody_cpu().struct_of_arrays_scratch(n);
  const std::size_t arrays = static_cast<std::size_t>(floats) * sizeof(float);
  return arrays > totals ? arrays : totals;
}

void nbody_accelerations(float* acceleration, const float* bodies, std::int64_t n,
                         const NbodyOptions& options, Workspace workspace, const Stream& stream) {
  const Device device = stream.device();
  check("nbody_accelerations", n, options);
  const NbodyVariant variant = resolved(options.variant, n, device);
  check_workspace("nbody_accelerations", n, variant, workspace, device);
  if (n == 0) return;
  const float softening2 = options.softening * options.softening;
  if (device.is_cpu()) {
    const NbodyCpu& cpu = select_nbody_cpu();
    if (variant == NbodyVariant::naive) {
      cpu.naive(acceleration, bodies, n, softening2, options.gravity);
    } else {
      cpu.struct_of_arrays(acceleration, bodies, n, softening2, options.gravity,
                           static_cast<float*>(workspace.data));
    }
    return;
  }
#ifdef WEFT_WITH_CUDA
  const cuda::NbodyForce force{softening2, options.gravity};
  switch (variant) {
    case NbodyVariant::array_of_structs:
      return cuda::nbody_array_of_structs(acceleration, bodies, n, force, workspace.data, stream);
    case NbodyVariant::struct_of_arrays:
      return cuda::nbody_struct_of_arrays(acceleration, bodies, n, force, workspace.data, stream);
    case NbodyVariant::naive:
      return cuda::nbody_naive(acceleration, bodies, n, force, stream);
    case NbodyVariant::shared_tiles:
      return cuda::nbody_shared_tiles(acceleration, bodies, n, force, stream);
    case NbodyVariant::constant_memory:
      return cuda::nbody_constant_memory(acceleration, bodies, n, force, workspace.data, stream);
    case NbodyVariant::pair_symmetric:
      return cuda::nbody_pair_symmetric(acceleration, bodies, n, force, workspace.data, stream);
    default:
      return cuda::nbody_register_tiled(acceleration, bodies, n, force, workspace.data, stream);
  }
#endif
}

void nbody_advance(float* bodies, float* velocity, const float* acceleration, std::int64_t n,
                   float kick, float drift, const Stream& stream) {
  if (checked_elements("nbody_advance", {n, 16}) == 0) return;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return cuda::nbody_advance(bodies, velocity, acceleration, n, kick, drift, stream);
  }
#endif
  static_cast<void>(stream);
  select_nbody_cpu().advance(bodies, velocity, acceleration, n, kick, drift);
}

void nbody_step(float* bodies, float* velocity, float* acceleration, std::int64_t n, float dt,
                const NbodyOptions& options, Workspace workspace, const Stream& stream) {
  nbody_advance(bodies, velocity, acceleration, n, dt / 2, dt, stream);
  nbody_accelerations(acceleration, bodies, n, options, workspace, stream);
  nbody_advance(bodies, velocity, acceleration, n, dt / 2, 0, stream);
}

void nbody_totals(double* totals, const float* bodies, const float* velocity, std::int64_t n,
                  const NbodyOptions& options, Workspace workspace, const Stream& stream) {
  const Device device = stream.device();
  check("nbody_totals", n, options);
  const NbodyVariant variant = resolved(options.variant, n, device);
  check_workspace("nbody_totals", n, variant, workspace, device);
  const float softening2 = options.softening * options.softening;
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) {
    return cuda::nbody_totals(totals, bodies, velocity, n, {softening2, options.gravity},
                              workspace.data, stream);
  }
#endif
  select_nbody_cpu().totals(totals, bodies, velocity, n, softening2, options.gravity,
                            static_cast<double*>(workspace.data));
}

Choice nbody_choice(std::int64_t n, Device device) {
  return named(kRows, automatic(n, device));
}

std::span<const VariantInfo> nbody_variants() {
  return kInfos;
}

NbodyVariant parse_nbody_variant(std::string_view name) {
  std::string choices = "automatic";
  if (name == choices) return NbodyVariant::automatic;
  for (const Row& row : kRows) {
    if (row.info.name == name) return row.variant;
    choices += str(", ", row.info.name);
  }
  throw Error(ErrorKind::usage, str("unknown nbody variant '", name, "'; choose from ", choices));
}

}  // namespace weft::kernels
