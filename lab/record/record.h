// SPDX-License-Identifier: MIT
// What the kernels of a student's program asked of memory, on its way from the program, which
// counts it, to `weft lab run`, which tells it.
#pragma once

#include <string>
#include <vector>

#include "host_cuda/access/access_trace.h"

namespace weft::lab {

struct Record {
  std::vector<KernelCounts> counts;  // of the whole run
  AccessTrace trace;                 // empty, unless it was asked for
};

// Writes it to a file that is private to the two. Throws data when the file cannot be written.
void write_record(const Record& record, const std::string& path);
// Throws data when the file is none that write_record() has written.
Record read_record(const std::string& path);

}  // namespace weft::lab
