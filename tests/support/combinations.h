// SPDX-License-Identifier: MIT
// What tests that loop over the rungs of a ladder call, so that no test passes that compared
// nothing: must_compare() when they begin, and taken() for each combination of a problem and a
// rung. When the test ends, the combinations that were passed over are printed, and it fails when
// all were.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "engine/device.h"

namespace weft::test {

class Combinations : public testing::EmptyTestEventListener {
 public:
  bool count(std::string_view rung, bool takes) {
    ++all_;
    if (!takes) ++passed_over_[std::string(rung)];
    return takes;
  }

  void finish() {
    int over = 0;
    std::string names;
    for (const auto& [rung, count] : passed_over_) {
      names += (names.empty() ? "" : ", ") + rung + " " + std::to_string(count);
      over += count;
    }
    if (over > 0) {
      std::printf("%d of %d combinations were not taken: %s\n", over, all_, names.c_str());
    }
    EXPECT_TRUE((all_ == 0 && !must_) || over < all_)
        << "no rung took any problem: nothing was compared";
    start(false);
  }

  void start(bool must) {
    passed_over_.clear();
    all_ = 0;
    must_ = must;
  }

  void OnTestStart(const testing::TestInfo&) override { start(false); }
  void OnTestEnd(const testing::TestInfo&) override { finish(); }

 private:
  std::map<std::string, int> passed_over_;
  int all_ = 0;
  bool must_ = false;
};

// GoogleTest owns it.
inline Combinations* const combinations = [] {
  auto* listener = new Combinations;
  testing::UnitTest::GetInstance()->listeners().Append(listener);
  return listener;
}();

// The test that is running has to take a combination, even where its loops leave out all problems.
inline void must_compare() {
  combinations->start(true);
}

// Counts a combination; returns `takes`.
inline bool taken(std::string_view rung, bool takes) {
  return combinations->count(rung, takes);
}
// The same for a row of a ladder, which is not counted where there is no version for such a device.
template <class Rung>
bool taken(const Rung& rung, Device device, bool takes) {
  return (device.is_cpu() ? rung.on_cpu : rung.on_cuda) && taken(rung.name, takes);
}

}  // namespace weft::test
