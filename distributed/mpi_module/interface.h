// SPDX-License-Identifier: MIT
// What the module weft_mpi offers. It is a library of its own, which is loaded when mpirun has
// started the program, so that nobody else waits for MPI to load, or needs it.
#pragma once

#include <cstddef>

extern "C" {

struct WeftMpi {
  // All return 0, or an MPI error code whose text is in text().
  int (*start)(int* rank, int* size);
  // As Transport::exchange(): bytes[r] of out[r] and in[r]. Returns -1 when nothing has arrived for
  // `timeout` seconds; *rank is then one that has not answered.
  int (*exchange)(const void* const* out, const std::size_t* out_bytes, void* const* in,
                  const std::size_t* in_bytes, double timeout, int* rank);
  int (*finish)();
  void (*abort)(int exit_code);
  const char* (*text)(int code);
  const char* (*library)();  // "Open MPI v4.1.4"
};

// The one symbol of the module.
const WeftMpi* weft_mpi_module();
}
