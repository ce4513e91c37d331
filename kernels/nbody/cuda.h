// SPDX-License-Identifier: MIT
// The CUDA launchers behind nbody.h: one per technique, called by nbody.cpp after validation.
//
// n is positive, the workspace has nbody_workspace_bytes() of the same technique.
#pragma once

#include "kernels/nbody/nbody.h"

namespace weft::kernels::cuda {

struct NbodyForce {
  float softening2;  // eps^2
  float gravity;
};

void nbody_array_of_structs(float* acceleration, const float* bodies, std::int64_t n,
                            const NbodyForce& force, void* workspace, const Stream& stream);
void nbody_struct_of_arrays(float* acceleration, const float* bodies, std::int64_t n,
                            const NbodyForce& force, void* workspace, const Stream& stream);
void nbody_naive(float* acceleration, const float* bodies, std::int64_t n, const NbodyForce& force,
                 const Stream& stream);
void nbody_shared_tiles(float* acceleration, const float* bodies, std::int64_t n,
                        const NbodyForce& force, const Stream& stream);
void nbody_register_tiled(float* acceleration, const float* bodies, std::int64_t n,
                          const NbodyForce& force, void* workspace, const Stream& stream);
// Not on two streams at once: there is one place for bodies in constant memory.
void nbody_constant_memory(float* acceleration, const float* bodies, std::int64_t n,
                           const NbodyForce& force, void* workspace, const Stream& stream);
void nbody_pair_symmetric(float* acceleration, const float* bodies, std::int64_t n,
                          const NbodyForce& force, void* workspace, const Stream& stream);

std::size_t nbody_workspace_bytes(std::int64_t n, NbodyVariant variant, Device device);
std::size_t nbody_register_tiled_bytes(std::int64_t n, Device device);
std::size_t nbody_constant_memory_bytes(std::int64_t n);
std::size_t nbody_pair_symmetric_bytes(std::int64_t n, Device device);
std::size_t nbody_totals_bytes(std::int64_t n);

void nbody_advance(float* bodies, float* velocity, const float* acceleration, std::int64_t n,
                   float kick, float drift, const Stream& stream);
void nbody_totals(double* totals, const float* bodies, const float* velocity, std::int64_t n,
                  const NbodyForce& force, void* workspace, const Stream& stream);

}  // namespace weft::kernels::cuda
