// SPDX-License-Identifier: MIT
// A transport over MPI, for programs that mpirun has started.
#pragma once

#include <memory>
#include <string>

#include "distributed/transport.h"

namespace weft::distributed {

// Has mpirun (Open MPI's, MPICH's) or srun started this process, as one of several?
bool started_by_mpi();

// Why there is no MPI here; empty when there is.
std::string mpi_reason();
std::string mpi_library();  // "Open MPI v4.1.4"; empty without MPI

// Starts MPI, which a process can do once. Error{usage} where mpi_reason() gives one; Error{device}
// when MPI fails. `timeout`: seconds that a rank may be silent.
std::unique_ptr<Transport> mpi_transport(double timeout = 120);

}  // namespace weft::distributed
