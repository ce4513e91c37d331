// SPDX-License-Identifier: MIT
// Data-parallel training: what the ranks of a run do together besides the sum of the gradients.
// With one rank all of this does nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/communicator.h"
#include "models/training/runs/run_directory.h"
#include "models/training/runs/run_state.h"
#include "models/training/train_step.h"

namespace weft::models {

// Throws usage, on every rank, unless all have the same program, kind of processor, settings and
// data; names the first rank that differs, and in what.
void require_same_run(distributed::Communicator& ranks, const RunState& state, Device device);

// The checkpoint of a run directory, which rank 0 reads for all; the others need not have it.
SafeTensors read_checkpoint(distributed::Communicator& ranks, const RunDirectory& directory);

// Running statistics of batch norm differ between ranks, which see other images: the mean over the
// ranks takes their place on all of them. Since a running statistic is linear in what it has seen,
// it does not matter how often this is done. Blocks.
void average_buffers(distributed::Communicator& ranks, TrainMemory& memory, const Stream& stream);

// Throws check_failed, on every rank, unless all that was read from the devices has the same bits
// on every rank; names the first rank and the first tensor that differ.
void require_same_weights(distributed::Communicator& ranks, const layers::Sequential& net,
                          const Checkpoint& checkpoint);

}  // namespace weft::models
