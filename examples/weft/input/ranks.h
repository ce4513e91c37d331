// SPDX-License-Identifier: MIT
// Runs on several devices: which rank of how many this process is, and how it meets the others.
#pragma once

#include <cstdint>
#include <string>

#include "distributed/communicator.h"
#include "examples/weft/input/flags.h"

namespace weft::cli {

struct RankFlags {
  std::optional<std::string> devices;  // "2": so many; "0,2": these GPUs
  std::optional<std::int64_t> rank, world_size;
  std::optional<std::string> rendezvous;
  std::optional<std::string> token_file;  // the file with the run's token
  bool no_token = false;
  double timeout = 120;
  std::string reduction = "automatic";
};

void add_rank_flags(CLI::App& app, RankFlags& flags);

// The ranks of this run, once they have met: one for --devices, mpirun or --rank; else one rank
// alone. With --devices this process becomes rank 0 and starts the others. Chooses the device and
// the threads in `device` where those were left open. On other ranks than 0, standard output and
// notices lead nowhere from here on. Throws usage for flags that do not go together, and device
// when the ranks do not meet.
distributed::Communicator& join_ranks(const RankFlags& flags, DeviceFlags& device);

distributed::DeviceReduction reduction_of(const RankFlags& flags);

// At the end of the program: waits for the other ranks.
void leave_ranks();
// The same after an error, `line`: rank 0 shows it, and the other ranks end too.
void fail_ranks(const std::string& line);

}  // namespace weft::cli
