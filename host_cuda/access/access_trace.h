// SPDX-License-Identifier: MIT
// What the warps of a few blocks did, one event after another, recorded while a kernel runs thread
// by thread on host-cuda: requests to memory with the address of each lane, branches at which lanes
// part, products of tensor cores, and barriers. access_counts.h has the sums over a whole run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host_cuda/access/access_counts.h"

namespace weft {

struct TraceOptions {
  std::uint64_t first_block = 0;  // of each launch, x fastest; a smaller grid shows its last one
  std::uint64_t blocks = 2;
  std::size_t launch_events = 4000;  // at most: then warps are left out, and then what comes last
  std::size_t events = 8000;         // of all launches together
};

struct TracedEvent {
  enum class What : std::uint8_t {
    request,
    branch,
    barrier,
    product,
    finding  // of a check, at the access that it is about; its sentence is the message
  } what = What::request;
  AccessKind kind = AccessKind::global_load;  // of a request
  std::uint32_t block = 0;                    // in its grid, x fastest
  std::uint32_t phase = 0;                    // barriers of the block before it
  std::uint32_t warp = 0;                     // of the block; of a barrier, 0
  std::uint32_t lanes = 0;                    // a bit for each one that takes part
  std::uint32_t line = 0, sentence = 0;       // places in AccessTrace
  std::uint32_t array = 0;                    // that a request goes to: a place in AccessTrace
  std::uint32_t bytes = 0;                    // of one lane
  std::uint32_t transactions = 0, least = 0;  // as in LineCounts
  std::uint32_t together = 32;                // neighbouring lanes that the banks serve at a time
  std::vector<std::int64_t> offsets;   // in bytes from the array's start, of each lane of `lanes`
  std::vector<std::uint32_t> trips;    // of the loops around it, the outermost first, from 0
  std::vector<std::uint32_t> parting;  // of a branch: the lanes of each way
  // What each lane of `lanes` has read, or what was there when it had written: of at most 8 bytes
  // one word, little endian; of more two, the first 16 bytes.
  std::vector<std::uint64_t> values;
};

// A kernel's argument that points to an array.
struct TracedPointer {
  std::uint32_t argument = 0;  // its number, from 0
  std::uint32_t array = 0;     // a place in AccessTrace
  std::uint64_t offset = 0;    // bytes from the array's start
};

struct TracedLaunch {
  std::string kernel;
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  std::uint64_t shared_bytes = 0;                        // of dynamic shared memory
  std::uint32_t first_block = 0, blocks = 0, warps = 0;  // shown; `warps` of each block
  std::uint64_t left_out = 0;                            // events of the blocks that are shown
  std::vector<TracedPointer> pointers;                   // to arrays that the events go to
  std::vector<TracedEvent> events;                       // by block; then in the order of time
};

struct TracedArray {
  std::string name;         // "values" of shared memory, "__device__ total", "global array 2"
  std::uint64_t bytes = 0;  // 0: not known
  bool shared = false;
};

struct AccessTrace {
  std::vector<TracedLaunch> launches;
  std::uint64_t launches_left_out = 0;
  std::vector<std::string> lines;      // as LineCounts::line
  std::vector<std::string> sentences;  // what an event shows
  std::vector<TracedArray> arrays;
  std::map<std::string, std::string> sources;  // text by path; of files that are there to read
};

// Runs `work` and returns what its kernels did. Empty, and `work` is not run, unless this program
// was linked for host-cuda.
AccessTrace trace_accesses(const std::function<void()>& work, const TraceOptions& options = {});

// What a run comes to without the __syncthreads() of one line, as LineCounts::line tells it.
struct WithoutBarrier {
  bool taken_out = false;  // a thread came to it
  std::string failure;     // what the checks found, a race perhaps; or empty
};
// `work` is not run unless this program was linked for host-cuda.
WithoutBarrier run_without_barrier(const std::string& line, const std::function<void()>& work);

// Rows of shared arrays, of which the last bytes hold nothing: they spread columns over the banks.
struct Padding {
  std::uint32_t row_bytes = 0, padding_bytes = 0;  // the padding is a part of the row
};
// Requests of one line, and the passes over the banks that they take with and without the padding.
struct WithoutPadding {
  std::string line;
  std::string sentence;  // what the request shows, without, that the padding helps most
  std::uint64_t requests = 0, with = 0, without = 0;
};
// Runs `work` as it is, and counts at the addresses that shared arrays of such rows would have. The
// lines that would cost more, the worst first; none unless this program was linked for host-cuda.
std::vector<WithoutPadding> count_without_padding(const Padding& padding,
                                                  const std::function<void()>& work);

}  // namespace weft
