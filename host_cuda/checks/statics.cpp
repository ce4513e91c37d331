// SPDX-License-Identifier: MIT
// The kernel of the operating system knows which variables were touched: pages that are given back
// to it come into memory again at the first access, and each variable has pages of its own.
#include "host_cuda/checks/statics.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "host_cuda/memory/symbols.h"

extern "C" char weft_shared_begin[], weft_shared_end[];

namespace weft::host_cuda {
namespace {

const std::size_t page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
std::vector<unsigned char> pages;      // as mincore() tells; bit 0: in memory
std::vector<const Variable*> touched;  // in the order in which they were found
std::vector<bool> known;               // by number of the variable: is in `touched`
long faults_before = -1;

std::size_t section_bytes() {
  return static_cast<std::size_t>(weft_shared_end - weft_shared_begin);
}

// Without another one, no page has come into memory.
long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

bool in_memory(const Variable& variable) {
  const std::uintptr_t offset =
      variable.begin - reinterpret_cast<std::uintptr_t>(weft_shared_begin);
  const std::size_t first = offset / page_bytes, last = (offset + variable.bytes - 1) / page_bytes;
  return std::any_of(pages.data() + first, pages.data() + last + 1,
                     [](unsigned char page) { return (page & 1) != 0; });
}

void find_touched() {
  const long faults = page_faults();
  if (faults == faults_before) return;
  faults_before = faults;
  if (mincore(weft_shared_begin, section_bytes(), pages.data()) != 0) {
    std::fill(pages.begin(), pages.end(), 1);
  }
  const std::vector<Variable>& all = shared_variables();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (known[i] || !in_memory(all[i])) continue;
    known[i] = true;
    touched.push_back(&all[i]);
  }
}

}  // namespace

void begin_statics() {
  pages.resize(section_bytes() / page_bytes);
  known.assign(shared_variables().size(), false);
  touched.clear();
  faults_before = -1;
  madvise(weft_shared_begin, section_bytes(), MADV_DONTNEED);
}

void save_statics(Block& block) {
  find_touched();
  std::size_t bytes = 0;
  for (const Variable* one : touched) bytes += one->bytes;
  block.statics.resize(bytes);
  char* to = block.statics.data();
  for (const Variable* one : touched) {
    std::memcpy(to, reinterpret_cast<const void*>(one->begin), one->bytes);
    to += one->bytes;
  }
}

// What was touched after this block was saved, it has not touched.
void load_statics(const Block& block) {
  const char* from = block.statics.data();
  const char* end = from + block.statics.size();
  for (auto one = touched.begin(); from != end; ++one) {
    std::memcpy(reinterpret_cast<void*>((*one)->begin), from, (*one)->bytes);
    from += (*one)->bytes;
  }
}

}  // namespace weft::host_cuda
