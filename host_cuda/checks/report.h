// SPDX-License-Identifier: MIT
// What is said of a finding: what was done, by which thread, at which line, what it met, and what
// usually mends it. A note tells of what is no mistake by the rules, but seldom meant.
#pragma once

#include <cstdint>
#include <string>

#include "host_cuda/checks/shadow.h"

namespace weft::host_cuda {

struct Block;

const char* verb(Access access);

// Sentences on stderr, once for each pair of places.
bool is_new_note(const void* place, const void* other);
void print_note(const std::string& text);
template <class Text>
void note(const void* place, const void* other, Text text) {
  if (is_new_note(place, other)) print_note(text());
}

// A failure with what usually mends it.
std::string with_remedy(const std::string& failure);

enum class Space : std::uint8_t { shared, global };

// Ends the grid, or notes, because of an access of the running thread. A read of what nobody has
// written is kept until another thread writes that, which then is the race that it was, or until
// none can.
void report(const Finding& finding, Access access, Space space, std::uintptr_t address,
            std::size_t bytes, const void* site);

extern bool doubts_open;  // does a thread of the grid wait for that?
void forget_doubts();
// The running thread writes: is that what another thread has read before?
void settle_doubts(Access access, std::uintptr_t address, std::size_t bytes, const void* site);
// What is said when nobody has written; empty where no thread of the block waits for that.
std::string doubt_of(const Block& block);

}  // namespace weft::host_cuda
