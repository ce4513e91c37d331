// SPDX-License-Identifier: MIT
// The rules of timing and of comparing: how samples become a number, and that a check can fail.
#include "measure/harness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/error.h"
#include "engine/timer.h"
#include "measure/families.h"
#include "measure/run.h"

namespace weft::measure {
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

  bool can_run(std::string_view variant) const override { return variant != left_out; }
  void call(std::string_view, int set) override {
    for (int i = 0; i < 100; ++i) {
      if (i != unwritten) y_[set][i] = i == wrong ? wrong_value : 1.0f;
    }
  }
  void reset() override { y_.clear(); }
  Verdict check(int set, Arithmetic) override {
    Comparison comparison;
    for (const float value : y_.host(set)) comparison.add(value, 1, 1e-6);
    return comparison.verdict();
  }

  int wrong = -1, unwritten = -1;
  float wrong_value = 1.001f;
  std::string_view left_out = "naive";

 private:
  Rotated<float> y_;
};

class RunOne : public testing::Test {
 protected:
  Row run() {
    return run_one(work_, "family", {"variant", "variant"},
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
      run_one(work_, "family", {"variant", "variant"},
              {[](int) { throw Error(ErrorKind::device, "no such luck"); }, {}}, {0, 3});
  EXPECT_FALSE(row.ok());
  EXPECT_NE(row.error.find("no such luck"), std::string::npos);
}

// Rows as a GPU leaves them: what matters of a kernel is which it is, its grid and its block.
class Launches : public testing::Test {
 protected:
  Row row(std::string name, std::string rung, Arithmetic arithmetic, int kernel,
          unsigned blocks = 7) {
    Row made;
    made.problem = "problem";
    made.name = name;
    made.rung = rung;
    made.arithmetic = arithmetic;
    made.verdict.ok = true;
    if (kernel >= 0) {
      KernelUsage& usage = made.kernels.emplace_back();
      usage.kernel = &kernels_[kernel];
      usage.grid = {blocks, 1, 1};
      usage.block = {128, 1, 1};
    }
    check_launches(made, rows_, work_);
    rows_.push_back(made);
    return rows_.back();
  }

  Ones work_{Context{Stream(Device::cpu())}};
  std::vector<Row> rows_;
  int kernels_[3] = {};
};

TEST_F(Launches, OfKernelsOrGridsThatDifferAreRight) {
  row("naive", "naive", Arithmetic::fp32, 0);
  row("tiled", "tiled", Arithmetic::fp32, 1);
  row("split", "split", Arithmetic::fp32, 0, 14);
  row("tensor", "tensor", Arithmetic::tf32, 2);
  for (const Row& one : rows_) EXPECT_TRUE(one.ok()) << one.name << one.misnamed;
}

TEST_F(Launches, OfTwoRungsThatAreTheSameFailBoth) {
  row("tiled", "tiled", Arithmetic::fp32, 1);
  row("naive", "naive", Arithmetic::fp32, 0);
  const Row other = row("large", "large", Arithmetic::fp32, 0);
  EXPECT_FALSE(other.ok());
  EXPECT_NE(other.misnamed.find("kernels of naive"), std::string::npos) << other.misnamed;
  EXPECT_FALSE(rows_[1].ok());
  EXPECT_TRUE(rows_[0].ok());
}

TEST_F(Launches, OfAutomaticAndOfOptionsOfARungMayBeThoseOfTheRung) {
  row("cluster", "cluster", Arithmetic::tf32, 0);
  EXPECT_TRUE(row("cluster, no overlap", "cluster", Arithmetic::tf32, 0).ok());
  EXPECT_TRUE(row("automatic tf32", "automatic", Arithmetic::tf32, 0).ok());
  rows_[0].problem = rows_[1].problem = rows_[2].problem = "another";
  EXPECT_TRUE(row("naive", "naive", Arithmetic::fp32, 0).ok()) << "on another problem";
}

TEST_F(Launches, OfTwoArithmeticsCannotBeTheSame) {
  row("cluster", "cluster", Arithmetic::tf32, 0);
  const Row bf16 = row("cluster bf16", "cluster", Arithmetic::bf16, 0);
  EXPECT_FALSE(bf16.ok());
  EXPECT_NE(bf16.misnamed.find("in tf32"), std::string::npos) << bf16.misnamed;
  EXPECT_FALSE(row("automatic", "automatic", Arithmetic::fp32, 0).ok());
}

TEST_F(Launches, OfNothingAreNoRung) {
  EXPECT_FALSE(row("naive", "naive", Arithmetic::fp32, -1).ok());
  work_.traffic = Traffic::host_bus;  // copies between host and device
  EXPECT_TRUE(row("pinned", "pinned", Arithmetic::fp32, -1).ok());
}

TEST_F(Launches, OfRungsThatAreArgumentsOfAKernelAreTheSame) {
  work_.one_kernel = true;
  row("plain_rows", "plain_rows", Arithmetic::fp32, 0);
  EXPECT_TRUE(row("pitched_rows", "pitched_rows", Arithmetic::fp32, 0).ok());
}

TEST(RunFamily, CountsTheRungsThatAProblemLeavesOut) {
  FamilyBench bench{};
  bench.family = "gemm";
  bench.problems = [](Device) {
    using Make = std::function<std::unique_ptr<Work>(const Context&)>;
    const Make make = [](const Context& context) { return std::make_unique<Ones>(context); };
    return std::vector<Make>(2, make);
  };
  Counts left_out;
  const std::vector<Row> rows = run_family(
      bench, {}, Context{Stream(Device::cpu())}, {0, 3}, [](const Row&) {}, &left_out);
  EXPECT_EQ(left_out, (Counts{{"naive", 2}}));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].name, "packed");
  EXPECT_EQ(rows[1].rung, "packed");
  const Peer peer{"peer", Arithmetic::fp32, [](Work& work) {
                    return PeerCall{[&work](int set) { work.call("", set); }, {}};
                  }};
  const auto rows_of_only = [&](std::string_view rung) {
    bench.only = rung;
    return run_family(bench, {peer}, Context{Stream(Device::cpu())}, {0, 3}, [](const Row&) {})
        .size();
  };
  EXPECT_EQ(rows_of_only("packed"), 4u) << "and the yardstick's";
  EXPECT_EQ(rows_of_only("naive"), 0u) << "no problem takes it";
}

// A family with one rung and two yardsticks, which notes the seeds of its problems.
TEST(RunFamily, RungAndYardstickTakeTurnsAndEachIsCheckedOnInputsOfItsOwn) {
  static std::vector<std::uint64_t> seeds;
  static std::string order;
  seeds.clear();
  order.clear();
  FamilyBench bench{};
  bench.family = "gemm";
  bench.problems = [](Device) {
    using Make = std::function<std::unique_ptr<Work>(const Context&)>;
    return std::vector<Make>{[](const Context& context) {
      seeds.push_back(context.seed);
      return std::make_unique<Ones>(context);
    }};
  };
  const auto waiting = [](char name, double seconds, bool wrong) {
    return [=](Work& work) {
      return PeerCall{[=, &work](int set) {
                        if (order.empty() || order.back() != name) order += name;
                        for (const Timer timer; timer.seconds() < seconds;) {
                        }
                        if (!wrong) work.call("", set);
                      },
                      {}};
    };
  };
  const std::vector<Peer> peers = {{"slow", Arithmetic::fp32, waiting('s', 2e-3, false)},
                                   {"quick", Arithmetic::fp32, waiting('q', 5e-4, false)},
                                   {"wrong", Arithmetic::fp32, waiting('w', 1e-4, true)},
                                   {"other", Arithmetic::bf16, waiting('o', 1e-4, false)}};
  int shown = 0;
  const std::vector<Row> rows = run_family(bench, peers, Context{Stream(Device::cpu()), 7}, {0, 9},
                                           [&](const Row&) { ++shown; });
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(shown, 5);
  EXPECT_EQ(seeds.size(), 6u) << "one problem to be timed, and one for each check";
  EXPECT_EQ(std::set<std::uint64_t>(seeds.begin(), seeds.end()).size(), 6u) << "no seed twice";
  EXPECT_NE(order.find("qwowqs"), std::string::npos) << "there and back: " << order;
  const Row& own = rows[0];
  EXPECT_TRUE(own.ok()) << own.verdict.text;
  EXPECT_EQ(own.turns.size(), 7u);
  EXPECT_EQ(own.yardstick, "quick") << "the fastest right one of its accuracy";
  EXPECT_GT(own.ratio.low, 10);
  EXPECT_LE(own.ratio.low, own.ratio.high);
  EXPECT_FALSE(rows[3].ok());
  EXPECT_EQ(own.l2, "warm") << "800 bytes";

  const nlohmann::json json = nlohmann::json::parse(row_json(own, Machine{}));
  EXPECT_EQ(json["turns"].size(), 7u);
  EXPECT_LE(json["seconds_low"], json["seconds_high"]);
  EXPECT_EQ(json["ratio"]["to"], "quick");
  EXPECT_EQ(json["check_seed"], seeds[1]);
  EXPECT_EQ(json["l2"], "warm");
  EXPECT_TRUE(json["gpu"].is_null()) << "a CPU has no NVML";
}

TEST(RunFamily, AYardstickMayBeWrongByTwiceTheBound) {
  FamilyBench bench{};
  bench.family = "gemm";
  bench.problems = [](Device) {
    using Make = std::function<std::unique_ptr<Work>(const Context&)>;
    return std::vector<Make>{
        [](const Context& context) { return std::make_unique<Ones>(context); }};
  };
  const auto off_by = [](float error) {
    return [error](Work& work) {
      auto& ones = dynamic_cast<Ones&>(work);
      return PeerCall{[&ones, error](int set) {
                        ones.wrong = 3;
                        ones.wrong_value = 1 + error;
                        ones.call("", set);
                        ones.wrong = -1;
                      },
                      {}};
    };
  };
  const std::vector<Peer> peers = {{"winograd", Arithmetic::fp32, off_by(1.5e-6f)},
                                   {"bad", Arithmetic::fp32, off_by(3e-6f)},
                                   {"nan", Arithmetic::fp32, off_by(NAN)}};
  const std::vector<Row> rows =
      run_family(bench, peers, Context{Stream(Device::cpu())}, {0, 7}, [](const Row&) {});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].yardstick, "winograd");
  EXPECT_TRUE(rows[1].ok());
  EXPECT_NE(rows[1].verdict.text.find("1 of 100 values differ"), std::string::npos)
      << rows[1].verdict.text;
  EXPECT_FALSE(rows[2].ok());
  EXPECT_FALSE(rows[3].ok());
}

// What a scan of three levels launches. scan_add_kernel has the most registers.
TEST(LaunchedKernels, TheOneThatDoesTheWorkComesFirst) {
  KernelUsage clear, scan, add;
  clear.kernel = &clear;
  clear.registers = 8;
  scan.kernel = &scan;
  scan.registers = 16;
  scan.shared_bytes = 2048;
  scan.grid = {4, 1, 1};
  add.kernel = &add;
  add.registers = 20;
  KernelUsage totals = scan;
  totals.grid = {1, 1, 1};
  const std::vector<LaunchedKernel> kernels =
      heaviest_first(std::vector<KernelUsage>{clear, scan, totals, add});
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].usage.kernel, &scan);
  EXPECT_EQ(kernels[0].launches, 2);
  EXPECT_EQ(kernels[0].usage.grid[0], 4u);
  EXPECT_EQ(kernels[1].usage.kernel, &add);
  EXPECT_EQ(kernels[2].usage.kernel, &clear);
}

TEST(LeftOut, IsCountedByVariant) {
  EXPECT_EQ(left_out_text("gemm", {{"naive", 2}, {"tiled", 1}}, 5),
            "gemm: 3 of 8 combinations of problem and variant were not taken: naive 2, tiled 1");
  EXPECT_EQ(left_out_text("scan", {}, 4),
            "scan: 0 of 4 combinations of problem and variant were not taken");
}

}  // namespace
}  // namespace weft::measure
