// SPDX-License-Identifier: MIT
// The rules of timing and of comparing: how samples become a number, and that a check can fail.
#include "bench/harness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/run.h"
#include "engine/error.h"
#include "engine/timer.h"

namespace weft::bench {
namespace {

TEST(Timing, MedianAndPercentilesOfUnsortedSamples) {
  const Timing timing = timing_of({5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(timing.median, 3);
  EXPECT_DOUBLE_EQ(timing.p10, 1.4);  // a tenth of the way from the first to the last
  EXPECT_DOUBLE_EQ(timing.p90, 4.6);
  EXPECT_EQ(timing.count, 5);
}

TEST(Timing, AnEvenCountHasItsMedianInTheMiddle) {
  EXPECT_DOUBLE_EQ(timing_of({1, 2, 3, 100}).median, 2.5);
}

TEST(Timing, OneSlowSampleMovesNeitherMedianNorPercentiles) {
  std::vector<double> seconds(30, 1.0);
  seconds[7] = 1000;
  const Timing timing = timing_of(seconds);
  EXPECT_EQ(timing.median, 1);
  EXPECT_EQ(timing.p10, 1);
  EXPECT_EQ(timing.p90, 1);
}

TEST(Timing, OneSampleIsAllThree) {
  const Timing timing = timing_of({2});
  EXPECT_EQ(timing.median, 2);
  EXPECT_EQ(timing.p10, 2);
  EXPECT_EQ(timing.p90, 2);
  EXPECT_THROW(timing_of({}), Error);
}

// A call that takes a known time, by the clock that the harness reads.
class Measured : public testing::Test {
 protected:
  Timing measure_call(double seconds, int sets, const TimingOptions& options) {
    runs_.assign(static_cast<std::size_t>(sets), 0);
    const Call call = [this, seconds](int set) {
      ++runs_[static_cast<std::size_t>(set)];
      for (const Timer timer; timer.seconds() < seconds;) {
      }
    };
    return measure(call, sets, options, Stream(Device::cpu()));
  }

  std::vector<std::int64_t> runs_;
};

TEST_F(Measured, TakesTheSamplesThatWereAskedFor) {
  const Timing timing = measure_call(1e-3, 3, {0, 30});
  EXPECT_GE(timing.count, 30);
  EXPECT_EQ(timing.calls, 1);  // long beside the clock: one call is a sample
  EXPECT_GE(timing.p10, 1e-3);
  EXPECT_GE(timing.median, timing.p10);
  EXPECT_GE(timing.p90, timing.median);
  EXPECT_LT(timing.p10, 5e-3);
  EXPECT_FALSE(timing.graph);
}

TEST_F(Measured, TakesTheTimeThatWasAskedFor) {
  const Timing timing = measure_call(1e-3, 1, {0.1, 10});
  EXPECT_GT(timing.count, 10);
}

TEST_F(Measured, ShortCallsAreSampledManyAtATime) {
  const Timing timing = measure_call(2e-6, 4, {0, 10});
  EXPECT_GT(timing.calls, 10);
  EXPECT_GE(timing.p10, 2e-6);  // of one call, not of a sample
  EXPECT_LT(timing.p10, 2e-4);
}

TEST_F(Measured, RotatesThroughTheSetsAndCountsTheirCalls) {
  for (const int sets : {1, 2, 3, 7}) {
    const Timing timing = measure_call(3e-5, sets, {0, 10});
    ASSERT_GE(timing.last_set, 0);
    ASSERT_LT(timing.last_set, sets);
    EXPECT_EQ(timing.runs, runs_[static_cast<std::size_t>(timing.last_set)]) << sets << " sets";
    for (const std::int64_t runs : runs_) EXPECT_GE(runs, 10);
  }
}

TEST(Comparison, NothingComparedIsNoSuccess) {
  EXPECT_FALSE(Comparison().verdict().ok);
}

TEST(Comparison, WithinTheBoundIsRight) {
  Comparison comparison;
  comparison.add(1.5, 1, 0.5);
  comparison.add(2, 2, 0);
  const Verdict verdict = comparison.verdict();
  EXPECT_TRUE(verdict.ok);
  EXPECT_EQ(verdict.compared, 2);
  EXPECT_DOUBLE_EQ(verdict.worst, 1);
}

TEST(Comparison, OneWrongValueAmongManyIsWrong) {
  Comparison comparison;
  for (int i = 0; i < 1000; ++i) comparison.add(i, i, 0.1);
  comparison.add(7.2, 7, 0.1);
  const Verdict verdict = comparison.verdict();
  EXPECT_FALSE(verdict.ok);
  EXPECT_GT(verdict.worst, 1);
  EXPECT_NE(verdict.text.find("1 of 1001 values differ"), std::string::npos) << verdict.text;
}

TEST(Comparison, NanAndInfinityAreWrong) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = HUGE_VAL;
  for (const auto& [actual, expected, bound] : std::vector<std::array<double, 3>>{
           {nan, 0, 1}, {0, nan, 1}, {infinity, 0, 1}, {-infinity, infinity, 1}, {0, 1, nan}}) {
    Comparison comparison;
    comparison.add(1, 1, 0);
    comparison.add(actual, expected, bound);
    EXPECT_FALSE(comparison.verdict().ok) << actual << " for " << expected;
  }
  Comparison both;
  both.add(nan, nan, 0);
  both.add(infinity, infinity, 0);
  EXPECT_TRUE(both.verdict().ok);
}

TEST(Rotated, ForgottenOutputsAreNan) {
  const Stream stream(Device::cpu());
  for (const std::int64_t n : {1, 1023, 1024, 1025, 5000}) {
    Rotated<float> values(n, 2, stream);
    values.clear();
    for (const float value : values.host(1)) ASSERT_TRUE(std::isnan(value)) << n;
  }
}

// A Work whose output is one buffer of ones, and which can be told to fail.
class Ones final : public Work {
 public:
  explicit Ones(const Context& made_with) : Work(made_with), y_(100, 2, made_with.stream) {
    problem = "ones";
    bytes = 400;
    sets = 2;
  }

  bool can_run(std::string_view) const override { return true; }
  void call(std::string_view, int set) override {
    for (int i = 0; i < 100; ++i) {
      if (i != unwritten) y_[set][i] = i == wrong ? 1.001f : 1.0f;
    }
  }
  void reset() override { y_.clear(); }
  Verdict check(int set, Arithmetic) override {
    Comparison comparison;
    for (const float value : y_.host(set)) comparison.add(value, 1, 1e-6);
    return comparison.verdict();
  }

  int wrong = -1, unwritten = -1;

 private:
  Rotated<float> y_;
};

class RunOne : public testing::Test {
 protected:
  Row run() {
    return run_one(work_, "family", "variant", Arithmetic::fp32,
                   {[this](int set) { work_.call("variant", set); }, {}}, {0, 3});
  }

  Ones work_{Context{Stream(Device::cpu())}};
};

TEST_F(RunOne, ARightResultIsOk) {
  const Row row = run();
  EXPECT_TRUE(row.ok()) << row.verdict.text << row.error;
  EXPECT_EQ(row.verdict.compared, 100);
}

TEST_F(RunOne, OneWrongValueIsWrong) {
  work_.wrong = 99;
  EXPECT_FALSE(run().ok());
}

TEST_F(RunOne, OneUnwrittenValueIsWrongAlsoAfterARightRun) {
  EXPECT_TRUE(run().ok());
  work_.unwritten = 57;
  EXPECT_FALSE(run().ok());
}

TEST_F(RunOne, AnErrorIsARowThatIsNotOk) {
  const Row row =
      run_one(work_, "family", "variant", Arithmetic::fp32,
              {[](int) { throw Error(ErrorKind::device, "no such luck"); }, {}}, {0, 3});
  EXPECT_FALSE(row.ok());
  EXPECT_NE(row.error.find("no such luck"), std::string::npos);
}

}  // namespace
}  // namespace weft::bench
