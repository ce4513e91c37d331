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
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/workers/workers.h"

namespace weft::host_cuda {

bool doubts_open = false;

namespace {

// A read of what nobody has written yet, of a thread that waits for the answer.
struct Doubt {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  Thread* thread = nullptr;
  const void* site = nullptr;
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
               "Model, \"Morally strong operations\"), but which comes first is left open",
               same_warp ? "; a __syncwarp() between the two orders them" : "");
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

void tell_note(const char* kind, const std::string& text, const void* place) {
  order_matters();
  if (lists_findings()) return tell_at(kind, text, source_line(place), true);
  std::fflush(stdout);
  std::fprintf(stderr, "weft: note: host-cuda: %s\n", printable(text).c_str());
}

std::string with_remedy(const std::string& failure) {
  constexpr std::pair<const char*, const char*> kRemedies[] = {
      {"uninitialised read", "write it first, or mend the index"},
      {"too early", "wait for the copy, and then for the other threads"},
      {"out of bounds", "compare the index with the number of elements first"},
      {"misaligned", "a vector begins at a multiple of its size"},
      {"integer division", "compare the divisor with 0 first"},
      {"missing return", "return a value on each way through it"},
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

namespace {

std::string said(Access access, Space space, std::uintptr_t address, const std::string& line) {
  return str(where(*running), " ", verb(access), " ",
             space == Space::shared ? shared_place(address) : describe_address(address), " at ",
             line);
}

void doubt(Space space, std::uintptr_t address, std::size_t bytes, Access access,
           const void* site) {
  constexpr const char* kKind = "uninitialised read";
  if (lists_findings()) {
    if (space == Space::shared && running->block->has_lost) return;  // which would have written
    if (told_before(kKind, site)) return;
  }
  Doubt made;
  made.address = address;
  made.bytes = bytes;
  made.thread = running;
  made.site = site;
  made.what = said(access, space, address, source_line(site));
  made.failure = str(kKind, ": ", made.what, ", which ",
                     space == Space::shared ? "no thread of the block" : "nobody", " has written");
  doubts.push_back(std::move(made));
  doubts_open = true;
  running->wait = Wait::answer;
  // This does not come back where the first finding ends the grid.
  Fiber::suspend(!lists_findings());
}

// Two threads write plainly, of which programs often mean one value.
bool may_be_same_value(const Finding& finding, Access access) {
  return finding.kind == Finding::Kind::race && access == Access::write &&
         finding.other.access() == Access::write &&
         finding.other.segment >= first_segment_of_grid();
}

}  // namespace

void report_race(const Finding& finding, Access access, Space space, std::uintptr_t address,
                 const void* site) {
  const auto text = [&] {
    const std::string line = source_line(site);
    return race(finding, access, said(access, space, address, line), line);
  };
  if (!lists_findings()) fail("race", site, text);
  const void* other = finding.other.site();
  if (!told_before("race", site, other)) tell("race", text(), site, other);
}

void note_same_value(const Finding& finding, Space space, std::uintptr_t address,
                     const void* site) {
  note("same value", site, finding.other.site(), [&] {
    const bool same_block = block_of(finding.other.segment) == running->block->number;
    return str("same value: ", said(Access::write, space, address, source_line(site)), "; ",
               same_block ? "" : block_name(block_of(finding.other.segment)),
               name_of_thread(finding.other.thread()), " writes the same value at ",
               source_line(finding.other.site()),
               ", and nothing orders the two: by CUDA's memory model a race, of which the result "
               "does not depend on the order");
  });
}

void report(const Finding& finding, Access access, Space space, std::uintptr_t address,
            std::size_t bytes, const void* site) {
  order_matters();
  switch (finding.kind) {
    case Finding::Kind::nothing:
      return;
    case Finding::Kind::unordered:
      return note("unordered", site, finding.other.site(), [&] {
        const std::string line = source_line(site);
        return race(finding, access, said(access, space, address, line), line);
      });
    case Finding::Kind::too_early:
      return found("too early", site, [&] {
        return str("too early: ", said(access, space, address, source_line(site)), "; ",
                   name_of_thread(finding.other.thread()), " has started a copy to it at ",
                   source_line(finding.other.site()), " and not waited for that");
      });
    case Finding::Kind::uninitialised:
      return doubt(space, address, bytes, access, site);
    default:
      if (lists_findings() && may_be_same_value(finding, access)) {
        return compare_values_later(*running, finding, access, space == Space::shared, address,
                                    bytes, site);
      }
      return report_race(finding, access, space, address, site);
  }
}

void forget_doubts() {
  doubts.clear();
  doubts_open = false;
}

void settle_doubts(Access access, std::uintptr_t address, std::size_t bytes, const void* site) {
  if (!is_write(access)) return;  // an atomic operation would itself read what nobody has written
  const auto meets = [&](const Doubt& one) {
    return address < one.address + one.bytes && one.address < address + bytes;
  };
  for (const Doubt& one : doubts) {
    if (!meets(one)) continue;
    const auto text = [&] {
      const Thread &self = *running, &reader = *one.thread;
      const bool same_block = reader.block == self.block;
      const std::string line = source_line(site);
      return str("race: ", one.what, ", before ", same_block ? "" : block_name(self.block->number),
                 thread_name(self), " ", verb(access), " it at ", line,
                 same_block ? ", with no barrier between" : ", and nothing orders the two blocks",
                 remedy(Access::read, access, "", line, same_block,
                        same_block && reader.id / 32 == self.id / 32));
    };
    if (!lists_findings()) fail("race", one.site, text);
    if (!told_before("race", one.site, site)) tell("race", text(), one.site, site);
    one.thread->wait = Wait::nothing;
  }
  std::erase_if(doubts, meets);
  doubts_open = !doubts.empty();
}

bool resolve_doubts(const Block& block) {
  const auto is_here = [&](const Doubt& one) { return one.thread->block == &block; };
  const auto first = std::find_if(doubts.begin(), doubts.end(), is_here);
  if (first == doubts.end()) return false;
  if (!lists_findings()) {
    set_failure("uninitialised read", first->failure, first->site);
    return true;
  }
  for (const Doubt& one : doubts) {
    if (!is_here(one)) continue;
    tell("uninitialised read", one.failure, one.site);
    one.thread->wait = Wait::nothing;
  }
  std::erase_if(doubts, is_here);
  doubts_open = !doubts.empty();
  return true;
}

}  // namespace weft::host_cuda
