// SPDX-License-Identifier: MIT
// Two networks and the calls that the tests of Plan share.
#pragma once

#include "tests/layers/instance.h"
#include "tests/support/device_test.h"

namespace weft::test {

inline constexpr std::int64_t kPixels = 2 * 8 * 8;
inline const Shape kSample{2, 8, 8};

// One of everything, ending in 4 values.
inline std::vector<ReferenceLayer> everything() {
  return stack(conv2d("conv1", 2, 4, layers::Window::square(3, 1, 1)), relu("relu1"),
               max_pool2d("pool1", layers::Window::square(2, 2)), batch_norm2d("bn", 4),
               tanh("tanh"), avg_pool2d("pool2", layers::Window::square(2, 2)), flatten("flatten"),
               dropout("drop", 0.25f, Instance::kSeed, 7, 0), linear("fc1", 16, 12), relu("relu2"),
               fork("fork"), linear("fc3", 12, 12), shortcut("shortcut"), linear("fc4", 12, 12),
               add("add"), linear("fc2", 12, 4), sigmoid("sigmoid"));
}

// The rows of a batch do not influence each other here.
inline std::vector<ReferenceLayer> row_wise() {
  return stack(conv2d("conv1", 2, 4, layers::Window::square(3)), relu("relu1"),
               max_pool2d("pool1", layers::Window::square(2, 2)), flatten("flatten"),
               linear("fc1", 36, 12), relu("relu2"), linear("fc2", 12, 4));
}

class PlanTest : public DeviceTest {
 protected:
  struct Result {
    std::vector<float> output, gradients, input_gradient;
    friend bool operator==(const Result&, const Result&) = default;
  };

  std::vector<float> forward(Plan& plan, const std::vector<float>& x) {
    fill(plan.input(), x, stream());
    plan.forward(stream());
    return to_host(plan.output(), stream());
  }
  Result step(Instance& instance, Plan& plan, const std::vector<float>& x,
              const std::vector<float>& dy) {
    Result result;
    result.output = forward(plan, x);
    fill(plan.output_gradient(), dy, stream());
    plan.backward(GradientMode::overwrite, stream(), true);
    result.gradients = instance.gradients();
    result.input_gradient = to_host(plan.input_gradient(), stream());
    return result;
  }
};

}  // namespace weft::test
