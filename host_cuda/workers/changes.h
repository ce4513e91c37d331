// SPDX-License-Identifier: MIT
// What blocks that ran in another process have changed (workers.h): device memory, and what its
// shadow knows of their accesses.
#pragma once

#include <cstdint>
#include <vector>

#include "host_cuda/memory/shadow.h"

namespace weft::host_cuda {

// Where both processes stood when they parted.
struct Parting {
  Segment segment = 0;
  std::size_t sites = 0;
};

// From here on the shadow notes which pages are touched.
Parting part();
// Writes the changes since then to the file. False when the disk or memory is full.
bool write_changes(const Parting& since, int file);

// The changes that several processes have written, in the order of their blocks. False, with
// nothing changed, where one touches what another one has written, or a file is not whole.
bool take_over(const Parting& since, const std::vector<int>& files);

}  // namespace weft::host_cuda
