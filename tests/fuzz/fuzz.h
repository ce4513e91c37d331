// SPDX-License-Identifier: MIT
// What the fuzzers share. libFuzzer calls each of them (run.sh); replay.cpp calls it with the files
// of a corpus, in every build.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <span>
#include <string>
#include <string_view>

#include "engine/error.h"
#include "engine/text.h"

namespace weft::fuzz {

using Input = std::span<const std::uint8_t>;

inline void require(bool holds, std::string_view what) {
  if (holds) return;
  std::cerr << "fuzz: " << what << "\n";
  std::abort();
}

inline std::string_view text_of(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

// One printable line that names the file first.
inline void require_one_line(std::string_view line, std::string_view file) {
  require(line.starts_with(file), "an error that does not name the file");
  require(printable(line) == line, "an error that is not one line of text");
}

inline void require_data_error(const Error& error, std::string_view file) {
  require(error.kind() == ErrorKind::data, "an error of another kind");
  require_one_line(error.what(), file);
}

// A file in memory, which is read by its path like any other; the next call replaces it.
inline std::string file_with(Input bytes) {
  static const int file = memfd_create("fuzz", 0);
  require(file >= 0 && ftruncate(file, static_cast<off_t>(bytes.size())) == 0 &&
              pwrite(file, bytes.data(), bytes.size(), 0) == std::ssize(bytes),
          "no file in memory");
  return "/proc/self/fd/" + std::to_string(file);
}

// Time of the processor, so that a busy machine makes no finding.
class TimeLimit {
 public:
  explicit TimeLimit(int seconds) : end_(std::clock() + seconds * CLOCKS_PER_SEC) {}
  ~TimeLimit() { require(std::clock() < end_, "took too long"); }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  std::clock_t end_;
};

}  // namespace weft::fuzz
