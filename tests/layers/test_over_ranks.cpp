// SPDX-License-Identifier: MIT
// Batch normalisation with the statistics of all ranks: plans of slices of a batch give what one
// plan of the whole batch gives, and the gradient of its loss.
//
// Ranks are threads that take turns: one runs until it waits in a sum, or ends.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/layers/plan_test.h"
#include "tests/support/compare.h"

namespace weft::test {
namespace {

using layers::SumOverRanks;
using layers::Window;

class Turns {
 public:
  explicit Turns(int ranks) : ranks_(ranks) {}

  // Calls run(rank, sum) for every rank, in a thread each.
  void run(const std::function<void(int rank, const SumOverRanks& sum)>& run) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks_; ++rank) {
      threads.emplace_back([&, rank] {
        std::unique_lock<std::mutex> turn(mutex_);
        try {
          run(rank, [&](float* values, std::int64_t n, const Stream& stream) {
            sum(turn, FloatView{values, Shape{n}, stream.device()}, stream);
          });
        } catch (const std::exception& error) {
          ADD_FAILURE() << "rank " << rank << ": " << error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  int sums() const { return round_; }

 private:
  void sum(std::unique_lock<std::mutex>& turn, FloatView view, const Stream& stream) {
    const std::vector<float> own = to_host(ConstFloatView(view), stream);
    if (arrived_ == 0) next_.assign(own.size(), 0.0f);
    if (own.size() != next_.size()) throw std::runtime_error("ranks sum different numbers");
    for (std::size_t i = 0; i < own.size(); ++i) next_[i] += own[i];
    const int round = round_;
    if (++arrived_ == ranks_) {
      arrived_ = 0;
      ++round_;
      total_ = next_;
      changed_.notify_all();
    } else if (!changed_.wait_for(turn, std::chrono::seconds(60),
                                  [&] { return round_ != round; })) {
      throw std::runtime_error("the other ranks do not sum");
    }
    fill(view, total_, stream);
  }

  int ranks_, arrived_ = 0, round_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float> next_, total_;
};

// Normalisation of the input, behind a ReLU whose backward it does as well, and within a block.
std::vector<ReferenceLayer> normalising() {
  return stack(batch_norm2d("bn0", 2), conv2d("conv1", 2, 3, Window::square(3)), relu("relu1"),
               batch_norm2d("bn1", 3), fork("fork"), conv2d("conv2", 3, 3, Window::square(3, 1, 1)),
               batch_norm2d("bn2", 3), add("add"), relu("relu2"), flatten("flatten"),
               linear("fc", 27, 4));
}

class OverRanks : public DeviceTest {
 protected:
  static constexpr std::int64_t kRows = 6, kInputs = 2 * 5 * 5, kOutputs = 4;

  struct Result {
    std::vector<float> output, input_gradient, gradients, buffers;
  };

  // The input's mean differs from row to row, so that the slices' statistics do.
  static std::vector<float> inputs() {
    std::vector<float> x = random_floats(kRows * kInputs, 61);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += static_cast<float>(i) / kInputs / 2;
    return x;
  }
  static std::vector<float> rows(const std::vector<float>& all, std::int64_t width,
                                 std::int64_t first, std::int64_t count) {
    return {all.begin() + first * width, all.begin() + (first + count) * width};
  }

  // One step of `count` rows.
  static Result step(std::int64_t first, std::int64_t count, const SumOverRanks* sum,
                     const layers::KernelChoice& kernels, const Stream& stream) {
    Instance instance({2, 5, 5}, normalising(), stream);
    Plan plan = instance.plan(count, Phase::training, kernels);
    if (sum != nullptr) plan.over_ranks(sum, kRows);
    fill(plan.input(), rows(inputs(), kInputs, first, count), stream);
    plan.forward(stream);
    fill(plan.output_gradient(), rows(upstream(), kOutputs, first, count), stream);
    Result result;
    result.output = to_host(plan.output(), stream);
    plan.backward(GradientMode::overwrite, stream, true);
    result.input_gradient = to_host(plan.input_gradient(), stream);
    result.gradients = instance.gradients();
    result.buffers = to_host(ConstFloatView(instance.weights.buffers.view<float>()), stream);
    return result;
  }
  static std::vector<float> upstream() { return random_floats(kRows * kOutputs, 62); }

  // The same step by ranks with so many rows each: outputs joined, gradients summed.
  Result step_of(const std::vector<std::int64_t>& shares, const layers::KernelChoice& kernels) {
    std::vector<Result> results(shares.size());
    Turns turns(static_cast<int>(shares.size()));
    turns.run([&](int rank, const SumOverRanks& sum) {
      std::int64_t first = 0;
      for (int before = 0; before < rank; ++before) {
        first += shares[static_cast<std::size_t>(before)];
      }
      const auto at = static_cast<std::size_t>(rank);
      results[at] = step(first, shares[at], &sum, kernels, Stream(device()));
    });
    EXPECT_EQ(turns.sums(), 3 * 3);  // of three layers: mean, variance, two means of backward

    Result all = results[0];
    for (std::size_t rank = 1; rank < results.size(); ++rank) {
      const Result& next = results[rank];
      EXPECT_EQ(next.buffers, all.buffers) << "rank " << rank;
      all.output.insert(all.output.end(), next.output.begin(), next.output.end());
      all.input_gradient.insert(all.input_gradient.end(), next.input_gradient.begin(),
                                next.input_gradient.end());
      if (next.gradients.size() != all.gradients.size()) {
        ADD_FAILURE() << "rank " << rank << " has no gradients";
        continue;
      }
      for (std::size_t i = 0; i < all.gradients.size(); ++i) all.gradients[i] += next.gradients[i];
    }
    return all;
  }
};

// Rounding of values of order 1 through a few layers, as in test_gradients.cpp.
constexpr Bound kRounding{2e-5, 2e-5, false};

const std::vector<std::vector<std::int64_t>> kShares = {{3, 3}, {1, 5}, {2, 0, 4}, {6}};

TEST_P(OverRanks, GiveTheStepOfTheWholeBatch) {
  for (const bool fuse : {true, false}) {
    const layers::KernelChoice kernels{.fuse = fuse};
    const Result expected = step(0, kRows, nullptr, kernels, stream());
    for (const auto& shares : kShares) {
      const Result found = step_of(shares, kernels);
      EXPECT_TRUE(compare(found.output, expected.output, kRounding, "output"));
      EXPECT_TRUE(compare(found.input_gradient, expected.input_gradient, kRounding, "dx"));
      EXPECT_TRUE(compare(found.gradients, expected.gradients, kRounding, "gradients"));
      EXPECT_TRUE(compare(found.buffers, expected.buffers, {1e-6, 1e-6, false}, "buffers"));
    }
  }
}

TEST_P(OverRanks, GradientsAreThoseOfTheWholeBatchsLoss) {
  Instance instance({2, 5, 5}, normalising(), stream());
  const std::vector<double> parameters = to_double(instance.parameters());
  const std::vector<double> x = to_double(inputs());
  const std::vector<float> r = upstream();
  const auto loss = [&](const std::vector<double>& input, const std::vector<double>& theta) {
    const Values y = instance.reference(Values(instance.net.input_shape(kRows), input), theta);
    double sum = 0;
    for (std::size_t i = 0; i < r.size(); ++i) sum += static_cast<double>(r[i]) * y.data[i];
    return sum;
  };
  const std::vector<double> dx =
      central_differences([&](std::vector<double>& v) { return loss(v, parameters); }, x);
  const std::vector<double> dp =
      central_differences([&](std::vector<double>& v) { return loss(x, v); }, parameters);
  const Result found = step_of({2, 0, 4}, {});
  EXPECT_TRUE(compare(found.input_gradient, dx, {5e-5, 5e-5, false}, "dx"));
  EXPECT_TRUE(compare(found.gradients, dp, {5e-5, 5e-5, false}, "gradients"));
}

// A value for each rank has a variance over all ranks.
TEST_P(OverRanks, OneValueOnEachRankIsEnough) {
  Turns turns(2);
  std::vector<float> outputs(2);
  turns.run([&](int rank, const SumOverRanks& sum) {
    const Stream own(device());
    Instance instance({1, 1, 1}, stack(batch_norm2d("bn", 1)), own);
    instance.set_parameters({2, 0.5f});
    Plan plan = instance.plan(1, Phase::training);
    plan.over_ranks(&sum, 2);
    fill(plan.input(), {rank == 0 ? -1.0f : 3.0f}, own);
    plan.forward(own);
    outputs[static_cast<std::size_t>(rank)] = to_host(plan.output(), own)[0];
  });
  EXPECT_TRUE(compare(outputs, std::vector<double>{-1.5, 2.5}, {1e-5, 0, false}));
}

// A GPU shares so many values of a channel out among blocks, which meet in the workspace behind
// what the layer keeps there between two sums.
TEST_P(OverRanks, ChannelsThatTakeAWorkspaceOfTheirOwn) {
  const Shape sample{2, 64, 64};
  const std::vector<float> x = random_floats(2 * sample.elements(), 63, -1, 3);
  const std::vector<float> dy = random_floats(2 * sample.elements(), 64);
  const auto step_of_rows = [&](std::int64_t first, std::int64_t count, const SumOverRanks* sum) {
    const Stream own(device());
    Instance instance(sample, stack(batch_norm2d("bn", 2)), own);
    Plan plan = instance.plan(count, Phase::training);
    if (sum != nullptr) plan.over_ranks(sum, 2);
    fill(plan.input(), rows(x, sample.elements(), first, count), own);
    plan.forward(own);
    fill(plan.output_gradient(), rows(dy, sample.elements(), first, count), own);
    plan.backward(GradientMode::overwrite, own, true);
    return Result{
        to_host(plan.output(), own), to_host(plan.input_gradient(), own), instance.gradients(), {}};
  };
  const std::size_t of_two_blocks = 2 * 2 * sizeof(kernels::Moments);
  EXPECT_GE(kernels::batch_norm_workspace_bytes({1, 2, 64 * 64}, device()),
            device().is_cpu() ? 0 : of_two_blocks);
  const Result expected = step_of_rows(0, 2, nullptr);
  Result found[2];
  Turns turns(2);
  turns.run([&](int rank, const SumOverRanks& sum) { found[rank] = step_of_rows(rank, 1, &sum); });
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const auto own = [&](const std::vector<float>& all) {
      return rows(all, sample.elements(), rank, 1);
    };
    EXPECT_TRUE(compare(found[rank].output, own(expected.output), kRounding, "output"));
    EXPECT_TRUE(compare(found[rank].input_gradient, own(expected.input_gradient), kRounding, "dx"));
  }
  std::vector<float> sum = found[0].gradients;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += found[1].gradients[i];
  EXPECT_TRUE(compare(sum, expected.gradients, {1e-3, 1e-4, false}, "gradients"));
}

TEST_P(OverRanks, CanBeCapturedAndSwitchedOff) {
  Instance instance({2, 5, 5}, normalising(), stream());
  Plan plan = instance.plan(kRows, Phase::training);
  fill(plan.input(), inputs(), stream());
  plan.forward(stream());
  const std::vector<float> alone = to_host(plan.output(), stream());

  const SumOverRanks of_one = [](float*, std::int64_t, const Stream&) {};
  plan.over_ranks(&of_one, kRows);
  const Graph graph(stream(), [&] {
    plan.forward(stream());
    plan.backward(GradientMode::overwrite, stream());
  });
  fill(plan.output_gradient(), upstream(), stream());
  graph.launch();
  EXPECT_TRUE(compare(to_host(plan.output(), stream()), alone, kRounding));
  const std::vector<float> gradients = instance.gradients();
  fill(plan.output_gradient(), upstream(), stream());
  graph.launch();
  EXPECT_EQ(instance.gradients(), gradients);

  plan.over_ranks(nullptr, 0);
  plan.forward(stream());
  EXPECT_EQ(to_host(plan.output(), stream()), alone);
}

TEST_P(OverRanks, ASliceIsNoLargerThanItsBatch) {
  const SumOverRanks sum = [](float*, std::int64_t, const Stream&) {};
  Instance instance({2, 5, 5}, normalising(), stream());
  Plan training = instance.plan(4, Phase::training), inference = instance.plan(4, Phase::inference);
  const auto complaint = [&](Plan& plan, std::int64_t all_rows) -> std::string {
    try {
      plan.over_ranks(&sum, all_rows);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
  };
  EXPECT_EQ(complaint(training, 4), "");
  EXPECT_EQ(complaint(training, 3), "plan: a batch of 4 as a slice of 3 rows");
  EXPECT_EQ(complaint(inference, 8), "plan: over_ranks() needs a plan for training");
}

WEFT_ON_EACH_DEVICE(OverRanks);

}  // namespace
}  // namespace weft::test
