// SPDX-License-Identifier: MIT
// What becomes of a finding. Without a listener the first one ends the grid, and run_grid() throws
// it. A program of the lab has a listener: its findings are told one by one, and the grid goes on
// where that has a meaning.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

namespace weft::host_cuda {

// A finding or note. There is one for each kind and line of a kernel, or of host code.
struct Told {
  std::string kind;    // "race"
  std::string kernel;  // empty: host code
  std::string text;    // the sentence
  std::string line;    // "x.cu:7", or "x.cuh:3 from x.cu:7"; empty where there is none
  bool is_note = false;
  std::size_t more = 0;  // how often it was met again
};

struct FindingListener {
  void (*told)(const Told& one);  // may end the program
  void (*launch_ended)();         // of which at least one was told
  void (*end)();                  // ends the program, which cannot go on
  void (*takes_long)();           // a launch with a finding has run for long; may end the program
};
void listen_to_findings(const FindingListener& listener);
bool lists_findings();                   // is there a listener?
const std::deque<Told>& all_findings();  // and notes, in the order in which they were told
std::size_t times_found();               // and no notes

// Was it told before? Then it is counted. `kind` is a literal, `site` a return address, and `other`
// that of the earlier access of a race, or null.
bool told_before(const char* kind, const void* site, const void* other = nullptr);
// Tells it, unless one of its kind was told at its line of its kernel. `line`: where there is no
// return address.
void tell(const char* kind, const std::string& text, const void* site, const void* other = nullptr);
void tell_at(const char* kind, const std::string& text, const std::string& line,
             bool is_note = false);

// The listener is told that the launch has ended, or that the program cannot go on.
void launch_ended();
void launch_with_finding_takes_long();
[[noreturn]] void end_after_findings();

}  // namespace weft::host_cuda
