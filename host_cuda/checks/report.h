// SPDX-License-Identifier: MIT
// What is said of a finding: what was done, by which thread, at which line, what it met, and what
// usually mends it. A note tells of what is no mistake by the rules, but seldom meant.
#pragma once

#include <cstdint>
#include <string>

#include "host_cuda/memory/shadow.h"

namespace weft::host_cuda {

struct Block;

const char* verb(Access access);

// Sentences on stderr, once for each pair of places, or for the listener of findings.
bool is_new_note(const void* place, const void* other);
void tell_note(const char* kind, const std::string& text, const void* place);
template <class Text>
void note(const char* kind, const void* place, const void* other, Text text) {
  if (is_new_note(place, other)) tell_note(kind, text(), place);
}

// A failure with what usually mends it.
std::string with_remedy(const std::string& failure);

enum class Space : std::uint8_t { shared, global };

// Ends the grid, or tells, because of an access of the running thread. A read of what nobody has
// written is kept until another thread writes that, which then is the race that it was, or until
// none can.
void report(const Finding& finding, Access access, Space space, std::uintptr_t address,
            std::size_t bytes, const void* site);

// Parts of it, for an access of the running thread that has been made.
void report_race(const Finding& finding, Access access, Space space, std::uintptr_t address,
                 const void* site);
void note_same_value(const Finding& finding, Space space, std::uintptr_t address, const void* site);

extern bool doubts_open;  // does a thread of the grid wait for that?
void forget_doubts();
// The running thread writes: is that what another thread has read before?
void settle_doubts(Access access, std::uintptr_t address, std::size_t bytes, const void* site);
// Nobody has written: ends the grid, or tells and lets the threads go on. False where no thread of
// the block waits for that.
bool resolve_doubts(const Block& block);

}  // namespace weft::host_cuda
