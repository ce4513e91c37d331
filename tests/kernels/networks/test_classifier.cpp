// SPDX-License-Identifier: MIT
// The end of a classifier in one kernel, against the double versions of the calls it stands for.
#include "kernels/softmax/classifier.h"

#include <gtest/gtest.h>

#include "kernels/gemm/cpu/templates.h"
#include "kernels/softmax/cpu/templates.h"
#include "tests/support/compare.h"
#include "tests/support/device_test.h"
#include "tests/support/guarded.h"
#include "tests/support/random.h"
#include "tests/support/small.h"

namespace weft::test {
namespace {

using namespace weft::kernels;

struct Expected {
  std::vector<double> logits, dlogits, loss, dx;
  std::vector<std::int32_t> prediction;
};

struct ClassifierProblem {
  ClassifierDims d;
  ClassifierOptions options;
  std::vector<float> x, w, bias;
  std::vector<std::int32_t> labels;

  ClassifierProblem(const ClassifierDims& dims, const ClassifierOptions& made_with)
      : d(dims), options(made_with) {
    x = random_floats(d.rows * d.in, 1);
    w = random_floats(d.classes * d.in, 2);
    bias = random_floats(d.classes, 3);
    for (std::int64_t r = 0; r < d.rows; ++r) {
      labels.push_back(static_cast<std::int32_t>((r * 7 + 3) % d.classes));
    }
  }

  Expected expected() const {
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    Expected e;
    e.logits.resize(size(d.rows * d.classes));
    e.dlogits.resize(e.logits.size());
    e.loss.resize(size(d.rows));
    e.prediction.resize(size(d.rows));
    e.dx.resize(size(d.rows * d.in));
    const std::vector<double> x64 = to_double(x), w64 = to_double(w), bias64 = to_double(bias);
    cpu::gemm_naive<double>(e.logits.data(), x64.data(), w64.data(), bias64.data(),
                            {d.rows, d.classes, d.in, false, true, d.in, d.in, d.classes}, 1.0, 0.0,
                            Epilogue::none);
    cpu::softmax_cross_entropy<double>(e.loss.data(), e.dlogits.data(), e.prediction.data(),
                                       e.logits.data(), labels.data(),
                                       static_cast<double>(options.scale), d.rows, d.classes,
                                       static_cast<double>(options.smoothing));
    cpu::gemm_naive<double>(e.dx.data(), e.dlogits.data(), w64.data(), nullptr,
                            {d.rows, d.in, d.classes, false, false, d.classes, d.in, d.in}, 1.0,
                            0.0, Epilogue::none);
    for (std::size_t i = 0; i < e.dx.size(); ++i) {
      if (options.mask && !(x[i] > 0)) e.dx[i] = 0;
    }
    return e;
  }
};

class Classifier : public DeviceTest {
 protected:
  // Does one call, and compares all of its outputs.
  void check(const ClassifierProblem& problem, bool with_bias = true) {
    const ClassifierDims& d = problem.d;
    Guarded<float> x(problem.x, stream()), w(problem.w, stream()), bias(problem.bias, stream());
    Guarded<std::int32_t> labels(problem.labels, stream()), prediction(d.rows, stream());
    Guarded<float> logits(d.rows * d.classes, stream()), dlogits(d.rows * d.classes, stream());
    Guarded<float> loss(d.rows, stream()), dx(d.rows * d.in, stream());
    classifier_forward_backward({.logits = logits.data(),
                                 .dlogits = dlogits.data(),
                                 .loss = loss.data(),
                                 .prediction = prediction.data(),
                                 .dx = dx.data()},
                                x.data(), w.data(), with_bias ? bias.data() : nullptr,
                                labels.data(), d, problem.options, stream());
    ClassifierProblem same = problem;
    if (!with_bias) same.bias.assign(same.bias.size(), 0.0f);
    const Expected e = same.expected();
    // A logit is a sum of `in` products of order 1; what follows from it is as far off as it is.
    const double eps = std::numeric_limits<float>::epsilon();
    const double error = 4 * eps * (static_cast<double>(d.in) / 6 + 8);
    const Bound bound{error, 16 * eps, true};
    const double scale = std::fabs(static_cast<double>(problem.options.scale));
    const Bound scaled{error * scale, 16 * eps, true};
    const std::string what =
        str("rows ", d.rows, " in ", d.in, " classes ", d.classes, " mask ", problem.options.mask);
    EXPECT_TRUE(compare(logits.get(), e.logits, bound, what + " logits"));
    EXPECT_TRUE(compare(loss.get(), e.loss, bound, what + " loss"));
    EXPECT_TRUE(compare(dlogits.get(), e.dlogits, scaled, what + " dlogits"));
    EXPECT_TRUE(compare(dx.get(), e.dx,
                        {error * scale * static_cast<double>(d.classes), 16 * eps, true},
                        what + " dx"));
    EXPECT_EQ(prediction.get(), e.prediction) << what;
  }

  bool fits(const ClassifierDims& dims) { return classifier_fits(dims, device()); }
};

TEST_P(Classifier, MatchesTheOracle) {
  if (!fits({1, 4, 2})) GTEST_SKIP() << "no kernel for classifiers here";
  int turn = 0;
  for (const std::int64_t in : {4, 84, 128, 132, 256, 512, 516, 1024, 1100}) {
    for (const std::int64_t classes : {1, 2, 10, 32}) {
      if (!fits({1, in, classes})) continue;
      for (const std::int64_t rows : sizes_here({1, 3, 33, 256, 1027}, {1, 3, 9})) {
        if (rows > 256 && in > 512) continue;
        ++turn;
        check({{rows, in, classes},
               {.scale = turn % 3 == 0 ? 1.0f : 1.0f / 64,
                .smoothing = turn % 4 == 0 ? 0.1f : 0.0f,
                .mask = turn % 2 == 0}},
              turn % 5 != 0);
        if (HasFailure()) return;
      }
    }
  }
}

// From 1024 rows on a warp takes two of them; here the last has one.
TEST_P(Classifier, WarpsTakeTwoOfManyRows) {
  if (!fits({1, 4, 2})) GTEST_SKIP() << "no kernel for classifiers here";
  check({{1025, 8, 3}, {.scale = 1.0f / 64, .mask = true}});
}

TEST_P(Classifier, GivesTheSameBitsTwice) {
  if (!fits({1, 4, 2})) GTEST_SKIP() << "no kernel for classifiers here";
  const ClassifierProblem problem({37, 512, 10}, {.mask = true});
  const auto run = [&] {
    Guarded<float> x(problem.x, stream()), w(problem.w, stream());
    Guarded<std::int32_t> labels(problem.labels, stream());
    Guarded<float> logits(370, stream()), dlogits(370, stream()), dx(37 * 512, stream());
    classifier_forward_backward(
        {.logits = logits.data(), .dlogits = dlogits.data(), .dx = dx.data()}, x.data(), w.data(),
        nullptr, labels.data(), problem.d, problem.options, stream());
    std::vector<float> all = dx.get();
    const std::vector<float> more = dlogits.get();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  EXPECT_EQ(run(), run());
}

// As softmax_cross_entropy(): a row with a label that does not exist is NaN, and others are what
// they are without it.
TEST_P(Classifier, MarksRowsWithoutALabel) {
  if (!fits({1, 4, 2})) GTEST_SKIP() << "no kernel for classifiers here";
  const ClassifierProblem whole({5, 8, 3}, {});
  const Expected e = whole.expected();
  std::vector<std::int32_t> target = whole.labels;
  target[1] = 3;
  target[4] = -1;
  Guarded<float> x(whole.x, stream()), w(whole.w, stream()), bias(whole.bias, stream());
  Guarded<float> logits(15, stream()), dlogits(15, stream()), loss(5, stream()), dx(40, stream());
  Guarded<std::int32_t> labels(target, stream());
  classifier_forward_backward(
      {.logits = logits.data(), .dlogits = dlogits.data(), .loss = loss.data(), .dx = dx.data()},
      x.data(), w.data(), bias.data(), labels.data(), whole.d, {}, stream());
  const auto rows_agree = [](const std::vector<float>& found, const std::vector<double>& expected) {
    const std::size_t width = found.size() / 5;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t row = i / width;
      if (row == 1 || row == 4) {
        EXPECT_TRUE(std::isnan(found[i])) << i;
      } else {
        EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
      }
    }
  };
  rows_agree(loss.get(), e.loss);
  rows_agree(dlogits.get(), e.dlogits);
  rows_agree(dx.get(), e.dx);
  EXPECT_TRUE(compare(logits.get(), e.logits, {1e-5, 0, false}, "logits"));
}

TEST_P(Classifier, LeavesOutWhatIsNotWanted) {
  if (!fits({1, 4, 2})) GTEST_SKIP() << "no kernel for classifiers here";
  const ClassifierProblem problem({6, 12, 4}, {});
  Guarded<float> x(problem.x, stream()), w(problem.w, stream());
  Guarded<std::int32_t> labels(problem.labels, stream());
  Guarded<float> logits(24, stream()), dlogits(24, stream());
  classifier_forward_backward({.logits = logits.data(), .dlogits = dlogits.data()}, x.data(),
                              w.data(), nullptr, labels.data(), problem.d, {}, stream());
  for (const float value : dlogits.get()) EXPECT_TRUE(std::isfinite(value));
  // No rows: nothing is launched.
  classifier_forward_backward({.logits = logits.data(), .dlogits = dlogits.data()}, x.data(),
                              w.data(), nullptr, labels.data(), {0, 12, 4}, {}, stream());
}

TEST_P(Classifier, RefusesWhatItCannotDo) {
  const auto refuse = [&](const ClassifierDims& dims, const ClassifierOptions& options,
                          std::uintptr_t x) {
    EXPECT_THROW(classifier_forward_backward({}, reinterpret_cast<const float*>(x), nullptr,
                                             nullptr, nullptr, dims, options, stream()),
                 Error);
  };
  refuse({2, -4, 3}, {}, 0);
  refuse({2, 4, 0}, {}, 0);
  refuse({2, 5, 3}, {}, 0);
  refuse({2, 4096, 3}, {}, 0);
  refuse({2, 4, 33}, {}, 0);
  refuse({2, 4, 3}, {.smoothing = 1}, 0);
  refuse({2, 4, 3}, {}, 4);
  EXPECT_FALSE(classifier_fits({2, 4, 3}, Device::cpu()));
}

WEFT_ON_EACH_DEVICE(Classifier);

}  // namespace
}  // namespace weft::test
