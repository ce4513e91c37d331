// SPDX-License-Identifier: MIT
// A step neither allocates nor synchronises, so it can be captured in a graph and replayed.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <set>

#include "tests/layers/plan_test.h"

namespace {

// Every operator new of this program is counted, so that a step can be shown to call none.
std::atomic<long> host_allocations = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  ++host_allocations;
  const std::size_t rounded = (std::max(bytes, std::size_t{1}) + alignment - 1) / alignment;
  if (void* memory = std::aligned_alloc(alignment, rounded * alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
// GCC 13 takes a replaced operator new that it inlines for another one than its delete.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace weft::test {
namespace {

class PlanSteps : public PlanTest {};

TEST_P(PlanSteps, AllocateNothing) {
  Instance instance(kSample, everything(), stream());
  Plan training = instance.plan(5, Phase::training), inference = instance.plan(5, Phase::inference);
  fill(inference.input(), random_floats(5 * kPixels, 53), stream());
  // Twice: kernels may set up thread-local scratch the first time they run.
  step(instance, training, random_floats(5 * kPixels, 51), random_floats(20, 52));
  inference.forward(stream());
  const std::size_t live = stream().live_bytes(), peak = stream().peak_bytes();
  const long before = host_allocations;
  training.forward(stream());
  training.backward(GradientMode::overwrite, stream(), true);
  training.backward(GradientMode::accumulate, stream());
  inference.forward(stream());
  const long after = host_allocations;
  EXPECT_EQ(after - before, 0);
  EXPECT_GT(before, 0);
  EXPECT_EQ(stream().live_bytes(), live);
  EXPECT_EQ(stream().peak_bytes(), peak);
}

TEST_P(PlanSteps, CanBeCapturedInAGraph) {
  Instance instance(kSample, row_wise(), stream());
  Plan plan = instance.plan(5, Phase::training);
  const std::vector<float> dy = random_floats(20, 52);
  Tensor upstream = tensor_from_host<float>({5, 4}, dy, stream());
  const Result expected = step(instance, plan, random_floats(5 * kPixels, 51), dy);
  step(instance, plan, random_floats(5 * kPixels, 54), dy);

  const Graph graph(stream(), [&] {
    plan.forward(stream());
    copy_bytes(plan.output_gradient().data, device(), upstream.raw(), device(), upstream.bytes(),
               stream());
    plan.backward(GradientMode::overwrite, stream(), true);
  });
  fill(plan.input(), random_floats(5 * kPixels, 51), stream());
  graph.launch();
  stream().synchronize();
  EXPECT_EQ(to_host(ConstFloatView(plan.output()), stream()), expected.output);
  EXPECT_EQ(instance.gradients(), expected.gradients);
  EXPECT_EQ(to_host(plan.input_gradient(), stream()), expected.input_gradient);
}

// Whoever sums gradients over ranks hears of each part once in every backward, when it is final.
TEST_P(PlanSteps, EveryBackwardReportsItsGradients) {
  Instance instance(kSample, row_wise(), stream());
  Plan plan = instance.plan(5, Phase::training);
  const std::int64_t middle = instance.net.parameter_count() / 2;
  std::vector<std::int64_t> reported;
  std::vector<float> second_half;
  plan.on_gradients({middle, 0}, [&](std::int64_t from) {
    reported.push_back(from);
    if (from == 0) return;
    const std::vector<float> all = instance.gradients();
    second_half.assign(all.begin() + from, all.end());
  });
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    reported.clear();
    const Result result =
        step(instance, plan, random_floats(5 * kPixels, 61 + turn), random_floats(20, 71 + turn));
    EXPECT_EQ(reported, (std::vector<std::int64_t>{middle, 0})) << turn;
    EXPECT_EQ(second_half,
              std::vector<float>(result.gradients.begin() + middle, result.gradients.end()));
  }
}

// The gradients of frozen layers are not touched, and the others have the bits that they have
// anyway.
TEST_P(PlanSteps, FrozenLayersGetNoGradients) {
  for (const bool fuse : {true, false}) {
    Instance whole(kSample, everything(), stream());
    const std::vector<float> x = random_floats(5 * kPixels, 51), dy = random_floats(20, 52);
    const layers::KernelChoice kernels{.fuse = fuse};
    const auto gradients_of = [&](Instance& instance) {
      Plan plan = instance.plan(5, Phase::training, kernels);
      forward(plan, x);
      fill(plan.output_gradient(), dy, stream());
      plan.backward(GradientMode::overwrite, stream());
      return instance.gradients();
    };
    const std::vector<float> expected = gradients_of(whole);
    for (const std::set<std::string>& names :
         {std::set<std::string>{"conv1"}, {"fc1", "fc3"}, {"conv1", "fc4"}, {"fc2"}}) {
      SCOPED_TRACE(*names.begin());
      Instance part(kSample, everything(), stream());
      for (const auto& layer : part.net.layers()) {
        part.weights.frozen.push_back(names.contains(layer->name()));
      }
      const std::vector<float> found = gradients_of(part);
      for (const layers::NamedSlice& slice : part.net.slices()) {
        if (!slice.trainable) continue;
        const bool frozen = names.contains(slice.name.substr(0, slice.name.find('.')));
        for (std::int64_t i = slice.offset; i < slice.offset + slice.shape.elements(); ++i) {
          const auto at = static_cast<std::size_t>(i);
          if (frozen) {
            EXPECT_TRUE(std::isnan(found[at])) << slice.name;
          } else {
            EXPECT_EQ(found[at], expected[at]) << slice.name;
          }
        }
      }
    }
  }
}

// Frozen in front of all that is trained, a batch normalisation takes its stored statistics.
TEST_P(PlanSteps, FrozenBatchNormalisationKeepsItsStatistics) {
  Instance instance(kSample, everything(), stream());
  for (const auto& layer : instance.net.layers()) {
    instance.weights.frozen.push_back(layer->name() == "conv1" || layer->name() == "bn");
  }
  const std::vector<float> before = to_host(instance.weights.buffers.view<float>(), stream());
  Plan plan = instance.plan(5, Phase::training);
  forward(plan, random_floats(5 * kPixels, 51));
  fill(plan.output_gradient(), random_floats(20, 52), stream());
  plan.backward(GradientMode::overwrite, stream());
  EXPECT_EQ(to_host(instance.weights.buffers.view<float>(), stream()), before);
  instance.weights.frozen[0] = false;  // conv1
  EXPECT_THROW(instance.plan(5, Phase::training), Error);
  instance.weights.frozen.pop_back();
  EXPECT_THROW(instance.plan(5, Phase::training), Error);
}

WEFT_ON_EACH_DEVICE(PlanSteps);

}  // namespace
}  // namespace weft::test
