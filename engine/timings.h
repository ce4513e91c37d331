// SPDX-License-Identifier: MIT
// Where the time of a program goes: parts of it with a name, as `--timings` prints them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct TimedPart {
  std::string name;
  double start = 0, seconds = 0;  // since the program began
  int depth = 0;                  // inside of how many other parts of the same thread
  bool beside = false;            // on another thread than main()
};

// Times a scope. Off until keep_timings(): then it costs two looks at the clock and a lock.
class TimedScope {
 public:
  explicit TimedScope(std::string_view name);
  TimedScope(const TimedScope&) = delete;
  ~TimedScope();

 private:
  std::string name_;
  double start_ = -1;
};

void keep_timings();               // from the main thread
std::vector<TimedPart> timings();  // of the scopes that have ended, by start
double seconds_since_start();      // of the process, to a hundredth

}  // namespace weft
