// SPDX-License-Identifier: MIT
#include "host_cuda/checks/report.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/text.h"
#include "host_cuda/checks/checks.h"
#include "host_cuda/checks/device_memory.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/checks/symbols.h"
#include "host_cuda/grid.h"
#include "host_cuda/workers/workers.h"

namespace weft::host_cuda {

bool doubts_open = false;

namespace {

// A read of what nobody has written yet, of a thread that waits for the answer.
struct Doubt {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  std::uint32_t block = 0;
  int thread = 0;
  std::string what, failure;  // "kernel k, ... reads ... at x.cu:7", and all that is said of it
};
std::vector<Doubt> doubts;

// "tile at byte 132" or "dynamic shared memory at byte 132"
std::string shared_place(std::uintptr_t address) {
  const Block& block = *running->block;
  const auto dynamic = reinterpret_cast<std::uintptr_t>(block.dynamic.get());
  if (address >= dynamic && address < dynamic + running_grid->shared_bytes) {
    return str("dynamic shared memory at byte ", address - dynamic);
  }
  const Variable* variable = nearest_shared_variable(address);
  return variable == nullptr
             ? "shared memory"
             : str("shared ", variable->name, " at byte ", address - variable->begin);
}

std::string block_name(std::uint32_t number) {
  const dim3& grid = running_grid->grid;
  return str("block (", number % grid.x, ", ", number / grid.x % grid.y, ", ",
             number / grid.x / grid.y, "), ");
}

std::string name_of_thread(int id) {
  return thread_name(running->block->thread[static_cast<std::size_t>(id)]);
}

// What orders an access of the running thread with one of another thread.
std::string remedy(Access access, Access other_access, const std::string& line,
                   const std::string& other_line, bool same_block, bool same_warp) {
  if (is_strong(access) != is_strong(other_access)) return "; make both of them atomic";
  if (!same_block) return "; use atomic operations, or a launch for each of the two steps";
  if (line == other_line && !is_read(access) && !is_read(other_access)) {
    return "; use an atomic operation, or let one thread write";
  }
  return str("; ", same_warp ? "a __syncwarp()" : "a __syncthreads()",
             " between the two orders them");
}

std::string race(const Finding& finding, Access access, const std::string& what,
                 const std::string& line) {
  const Thread& self = *running;
  const Stamp& other = finding.other;
  const std::string other_line = source_line(other.site());
  if (other.segment < first_segment_of_grid()) {
    return str("race: ", what, "; ", launch_of(other.segment), ", ", verb(other.access()),
               " it at ", other_line,
               ", and no stream, event or wait orders the two launches: this is ",
               launch_of(first_segment_of_grid()));
  }
  const std::uint32_t block = block_of(other.segment);
  const bool same_block = block == self.block->number;
  const bool same_warp = same_block && other.thread() / 32 == self.id / 32;
  const std::string second =
      str(what, "; ", same_block ? "" : block_name(block), name_of_thread(other.thread()), " ",
          verb(other.access()), " it at ", other_line);
  const char* nothing =
      same_block ? ", with no barrier between" : ", and nothing orders the two blocks";
  if (finding.kind == Finding::Kind::out_of_scope) {
    return str("race: ", second, nothing,
               ": an atomic operation of the scope of a block is none for another block; leave "
               "_block out");
  }
  if (finding.kind == Finding::Kind::unordered) {
    return str("unordered: ", second, nothing,
               ": both are atomic or volatile, so this is no race (PTX ISA, Memory Consistency "
               "Model, \"Morally strong operations\"), but which comes first is left open");
  }
  return str("race: ", second, nothing,
             remedy(access, other.access(), line, other_line, same_block, same_warp));
}

}  // namespace

const char* verb(Access access) {
  if (is_read(access)) return "reads";
  return is_write(access) ? "writes" : "atomically updates";
}

bool is_new_note(const void* place, const void* other) {
  static std::mutex mutex;
  static auto& known = *new std::set<std::pair<const void*, const void*>>;
  const std::lock_guard lock(mutex);
  return known.emplace(place, other).second;
}

void print_note(const std::string& text) {
  order_matters();
  std::fflush(stdout);
  std::fprintf(stderr, "weft: note: host-cuda: %s\n", printable(text).c_str());
}

std::string with_remedy(const std::string& failure) {
  constexpr std::pair<const char*, const char*> kRemedies[] = {
      {"uninitialised read", "write it first, or mend the index"},
      {"too early", "wait for the copy, and then for the other threads"},
      {"out of bounds", "compare the index with the number of elements first"},
      {"misaligned", "a vector begins at a multiple of its size"},
      {"constant memory", "the host writes it, by cudaMemcpyToSymbol"},
      {"host pointer", "allocate it by cudaMalloc, and copy the data there"},
      {"null pointer", "pass what cudaMalloc has returned"},
      {"divergent barrier", "put the barrier where all threads of the block pass it"},
      {"missing lane", "name only the lanes that come, or let all of them come"},
      {"wrong mask", "name the calling lane and the lane that it reads"},
  };
  for (const auto& [kind, remedy] : kRemedies) {
    if (failure.starts_with(kind)) return str(failure, "; ", remedy);
  }
  return failure;
}

void report(const Finding& finding, Access access, Space space, std::uintptr_t address,
            std::size_t bytes, const void* site) {
  order_matters();
  const auto what = [&](const std::string& line) {
    return str(where(*running), " ", verb(access), " ",
               space == Space::shared ? shared_place(address) : describe_address(address), " at ",
               line);
  };
  switch (finding.kind) {
    case Finding::Kind::nothing:
      return;
    case Finding::Kind::unordered:
      return note(site, finding.other.site(), [&] {
        const std::string line = source_line(site);
        return race(finding, access, what(line), line);
      });
    case Finding::Kind::too_early:
      fail([&] {
        return str("too early: ", what(source_line(site)), "; ",
                   name_of_thread(finding.other.thread()), " has started a copy to it at ",
                   source_line(finding.other.site()), " and not waited for that");
      });
    case Finding::Kind::uninitialised: {
      Doubt doubt;
      doubt.address = address;
      doubt.bytes = bytes;
      doubt.thread = running->id;
      doubt.block = running->block->number;
      doubt.what = what(source_line(site));
      doubt.failure =
          str("uninitialised read: ", doubt.what, ", which ",
              space == Space::shared ? "no thread of the block" : "nobody", " has written");
      doubts.push_back(std::move(doubt));
      break;
    }
    default:
      fail([&] {
        const std::string line = source_line(site);
        return race(finding, access, what(line), line);
      });
  }
  doubts_open = true;
  running->wait = Wait::answer;
  Fiber::suspend(true);
}

void forget_doubts() {
  doubts.clear();
  doubts_open = false;
}

void settle_doubts(Access access, std::uintptr_t address, std::size_t bytes, const void* site) {
  if (!is_write(access)) return;  // an atomic operation would itself read what nobody has written
  for (const Doubt& one : doubts) {
    if (address >= one.address + one.bytes || one.address >= address + bytes) continue;
    fail([&] {
      const Thread& self = *running;
      const bool same_block = one.block == self.block->number;
      const std::string line = source_line(site);
      return str("race: ", one.what, ", before ", same_block ? "" : block_name(self.block->number),
                 thread_name(self), " ", verb(access), " it at ", line,
                 same_block ? ", with no barrier between" : ", and nothing orders the two blocks",
                 remedy(Access::read, access, "", line, same_block,
                        same_block && one.thread / 32 == self.id / 32));
    });
  }
}

std::string doubt_of(const Block& block) {
  const auto one = std::find_if(doubts.begin(), doubts.end(),
                                [&](const Doubt& doubt) { return doubt.block == block.number; });
  return one == doubts.end() ? "" : one->failure;
}

}  // namespace weft::host_cuda
