// SPDX-License-Identifier: MIT
// conv_relu_pool behind a stem, whose output x no memory holds: against the oracle of the family
// with an x that is computed here.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/conv_relu_pool/conv_relu_pool.h"
#include "kernels/conv_relu_pool/cpu/templates.h"
#include "tests/support/compare.h"
#include "tests/support/device_test.h"
#include "tests/support/guarded.h"
#include "tests/support/random.h"
#include "tests/support/small.h"

namespace weft::test {
namespace {

using namespace weft::kernels;

struct StemResults {
  std::vector<double> y, dw, db, stem_dw, stem_db;
};

struct StemProblem {
  ReluPoolDims d;
  GradientMode mode;
  std::vector<float> image, stem_w, stem_bias, w, bias, dy;
  std::vector<float> stem_dw, stem_db;  // before an accumulating pass

  StemProblem(const ReluPoolDims& dims, bool integers, GradientMode mode_) : d(dims), mode(mode_) {
    const auto values = [&](std::int64_t n, std::uint64_t seed) {
      return integers ? random_integers(n, seed, -1, 1) : random_floats(n, seed);
    };
    const ConvDims& c = d.conv;
    image = values(c.n * (c.h + 2) * (c.w + 2), 1);
    stem_w = values(c.c * 9, 2);
    stem_bias = values(c.c, 3);
    w = values(c.oc * c.c * 9, 4);
    bias = values(c.oc, 5);
    dy = values(c.n * c.oc * d.rows() * d.columns(), 6);
    stem_dw = values(c.c * 9, 7);
    stem_db = values(c.c, 8);
  }

  // The pixel of image n under tap t of the stem's pixel (row, column).
  double pixel(std::int64_t n, std::int64_t row, std::int64_t column, std::int64_t t) const {
    const std::int64_t height = d.conv.h + 2, width = d.conv.w + 2;
    return image[static_cast<std::size_t>((n * height + row + t / 3) * width + column + t % 3)];
  }
  template <class Visit>
  void each_x(const Visit& visit) const {
    std::size_t i = 0;
    for (std::int64_t n = 0; n < d.conv.n; ++n) {
      for (std::int64_t c = 0; c < d.conv.c; ++c) {
        for (std::int64_t row = 0; row < d.conv.h; ++row) {
          for (std::int64_t column = 0; column < d.conv.w; ++column) {
            visit(i++, n, c, row, column);
          }
        }
      }
    }
  }

  StemResults expected(std::vector<std::uint8_t>& argmax) const {
    const ConvDims& c = d.conv;
    std::vector<double> x(static_cast<std::size_t>(c.n * c.c * c.h * c.w)), dx(x.size());
    each_x([&](std::size_t i, auto n, auto channel, auto row, auto column) {
      double sum = stem_bias[static_cast<std::size_t>(channel)];
      for (std::int64_t t = 0; t < 9; ++t) {
        sum += stem_w[static_cast<std::size_t>(channel * 9 + t)] * pixel(n, row, column, t);
      }
      x[i] = std::max(sum, 0.0);
    });
    const auto w64 = to_double(w), bias64 = to_double(bias), dy64 = to_double(dy);
    StemResults r{std::vector<double>(dy.size()), std::vector<double>(w.size()),
                  std::vector<double>(bias.size()), to_double(stem_dw), to_double(stem_db)};
    argmax.resize(dy.size());
    cpu::conv2d_relu_pool_forward<double>(r.y.data(), argmax.data(), x.data(), w64.data(),
                                          bias64.data(), d);
    cpu::conv2d_relu_pool_backward_weights<double>(
        r.dw.data(), r.db.data(), dy64.data(), argmax.data(), x.data(), d, GradientMode::overwrite);
    cpu::conv2d_relu_pool_backward_data<double>(dx.data(), dy64.data(), argmax.data(), w64.data(),
                                                d, GradientMode::overwrite);
    if (mode == GradientMode::overwrite) {
      std::ranges::fill(r.stem_dw, 0.0);
      std::ranges::fill(r.stem_db, 0.0);
    }
    each_x([&](std::size_t i, auto n, auto channel, auto row, auto column) {
      if (!(x[i] > 0)) return;
      r.stem_db[static_cast<std::size_t>(channel)] += dx[i];
      for (std::int64_t t = 0; t < 9; ++t) {
        r.stem_dw[static_cast<std::size_t>(channel * 9 + t)] += dx[i] * pixel(n, row, column, t);
      }
    });
    return r;
  }
};

// Shapes whose tiles are one and several, full and not, with borders, and several to a block.
std::vector<ReluPoolDims> cases() {
  return {{{3, 32, 26, 26, 64, 3, 3}},           {{2, 32, 26, 26, 64, 3, 3, 1, 1, 1, 1}},
          {{2, 5, 8, 10, 4, 3, 3, 1, 1, 0, 1}},  {{300, 4, 6, 6, 3, 3, 3, 1, 1, 1, 1}},
          {{140, 8, 6, 6, 9, 3, 3, 1, 1, 2, 2}}, {{1, 40, 40, 44, 70, 3, 3}},
          {{2, 33, 30, 28, 65, 3, 3}},           {{1, 70, 8, 8, 16, 3, 3, 1, 1, 1, 1}}};
}

class ReluPoolStem : public DeviceTest {
 protected:
  // Nothing where the device has no rung for it.
  std::vector<ComputeMode> modes(const ReluPoolDims& d) const {
    std::vector<ComputeMode> all;
    for (const ComputeMode mode : {ComputeMode::tf32, ComputeMode::bf16}) {
      bool takes = true;
      for (const ConvPass pass :
           {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weights}) {
        takes = takes && conv_relu_pool_takes("wgmma", {pass, d, mode, true}, device());
      }
      if (takes) all.push_back(mode);
    }
    return all;
  }

  // `misalign`: floats by which every array but the images is off an aligned address.
  StemResults run(const StemProblem& p, ComputeMode mode, const std::vector<std::uint8_t>& argmax,
                  std::int64_t misalign = 0) const {
    const Guarded<float> image(p.image, stream()), stem_w(p.stem_w, stream(), misalign),
        stem_bias(p.stem_bias, stream(), misalign), w(p.w, stream(), misalign),
        bias(p.bias, stream(), misalign), dy(p.dy, stream(), misalign);
    const Guarded<std::uint8_t> given(argmax, stream(), misalign);
    const auto output = [&](const std::vector<float>& like, bool kept) {
      Guarded<float> memory(static_cast<std::int64_t>(like.size()), stream(), misalign);
      if (kept) memory.set(like);
      return memory;
    };
    const bool kept = p.mode == GradientMode::accumulate;
    Guarded<float> y = output(p.dy, false), dw = output(p.w, false), db = output(p.bias, false);
    Guarded<float> stem_dw = output(p.stem_dw, kept), stem_db = output(p.stem_db, kept);
    Guarded<std::uint8_t> found(static_cast<std::int64_t>(argmax.size()), stream(), misalign);
    const ReluPoolOptions options{
        .mode = mode, .stem = kernels::ReluPoolStem{image.data(), stem_w.data(), stem_bias.data()}};
    const auto scratch = [&](ConvPass pass) {
      return Buffer(conv2d_relu_pool_workspace_bytes(pass, p.d, options, device()), stream());
    };
    const Buffer forward = scratch(ConvPass::forward), data = scratch(ConvPass::backward_data),
                 weights = scratch(ConvPass::backward_weights);
    conv2d_relu_pool_forward(y.data(), found.data(), nullptr, w.data(), bias.data(), p.d, options,
                             {forward.data(), forward.bytes()}, stream());
    conv2d_relu_pool_backward_weights(dw.data(), db.data(), dy.data(), given.data(), nullptr, p.d,
                                      GradientMode::overwrite, options,
                                      {weights.data(), weights.bytes()}, stream());
    conv2d_relu_pool_backward_stem(stem_dw.data(), stem_db.data(), dy.data(), given.data(),
                                   w.data(), p.d, p.mode, options, {data.data(), data.bytes()},
                                   stream());
    return {to_double(y.get()), to_double(dw.get()), to_double(db.get()), to_double(stem_dw.get()),
            to_double(stem_db.get())};
  }
};

bool has_hopper(Device device) {
  return device_properties(device).compute_capability == 90;
}

TEST_P(ReluPoolStem, IsExactOnIntegers) {
  int compared = 0, turn = 0;
  for (const ReluPoolDims& d : cases()) {
    if (too_large(4e2 * static_cast<double>(d.conv.n * d.conv.oc * d.conv.h * d.conv.w))) continue;
    const StemProblem p(d, true,
                        turn++ % 2 == 0 ? GradientMode::overwrite : GradientMode::accumulate);
    std::vector<std::uint8_t> argmax;
    const StemResults expected = p.expected(argmax);
    for (const ComputeMode mode : modes(d)) {
      for (const std::int64_t misalign : {0, 1}) {
        SCOPED_TRACE(str("case ", turn, " mode ", static_cast<int>(mode), " misalign ", misalign));
        const StemResults found = run(p, mode, argmax, misalign);
        EXPECT_EQ(found.y, expected.y);
        EXPECT_EQ(found.dw, expected.dw);
        EXPECT_EQ(found.db, expected.db);
        EXPECT_EQ(found.stem_dw, expected.stem_dw);
        EXPECT_EQ(found.stem_db, expected.stem_db);
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared > 0, has_hopper(device())) << "combinations compared: " << compared;
}

// Values that are rounded, and the same bits twice.
TEST_P(ReluPoolStem, MatchesTheOracle) {
  const StemProblem p({{3, 32, 26, 26, 64, 3, 3}}, false, GradientMode::overwrite);
  std::vector<std::uint8_t> argmax;
  const StemResults expected = p.expected(argmax);
  EXPECT_EQ(modes(p.d).empty(), !has_hopper(device()));
  for (const ComputeMode mode : modes(p.d)) {
    const StemResults found = run(p, mode, argmax), again = run(p, mode, argmax);
    // Sums of 288, 432 and 576 products whose factors are rounded; the stem's of those of dx.
    const double unit = std::ldexp(1.0, mode == ComputeMode::tf32 ? -11 : -8);
    const auto check = [&](const char* what, const std::vector<double>& is,
                           const std::vector<double>& was, const std::vector<double>& to,
                           double length) {
      const Bound bound{4 * unit * std::sqrt(length), 1e-6};
      EXPECT_TRUE(compare(std::vector<float>(is.begin(), is.end()), to, bound, what));
      EXPECT_EQ(is, was) << what;
    };
    check("y", found.y, again.y, expected.y, 288);
    check("dw", found.dw, again.dw, expected.dw, 432);
    check("stem dw", found.stem_dw, again.stem_dw, expected.stem_dw, 576 * 3 * 676);
    check("stem db", found.stem_db, again.stem_db, expected.stem_db, 576 * 3 * 676);
  }
}

TEST_P(ReluPoolStem, IsRefusedWhereNoRungComputesIt) {
  ReluPoolDims d{{2, 32, 26, 26, 64, 3, 3}};
  const auto refused = [&](std::string_view variant, ComputeMode mode) {
    const ReluPoolOptions options{
        .variant = variant, .mode = mode, .stem = kernels::ReluPoolStem{}};
    try {
      conv2d_relu_pool_workspace_bytes(ConvPass::forward, d, options, device());
    } catch (const Error& e) {
      return e.kind() == ErrorKind::usage;
    }
    return false;
  };
  EXPECT_TRUE(refused("gather", ComputeMode::bf16));
  EXPECT_TRUE(refused("staged_images", ComputeMode::bf16));
  EXPECT_TRUE(refused(kAutomatic, ComputeMode::fp32));
  EXPECT_NE(refused(kAutomatic, ComputeMode::bf16), has_hopper(device()));
  d.conv.w = 25;  // images of odd width, and of odd height
  EXPECT_TRUE(refused(kAutomatic, ComputeMode::bf16));
  d.conv.w = 26, d.conv.h = 25;
  EXPECT_TRUE(refused(kAutomatic, ComputeMode::bf16));
  d.conv = {1, 32, 60, 62, 64, 3, 3};  // more than 8 KiB
  EXPECT_TRUE(refused(kAutomatic, ComputeMode::bf16));
}

TEST_P(ReluPoolStem, RefusesMisalignedImagesAndTheGradientOfWhatIsNotStored) {
  const ReluPoolDims d{{2, 32, 26, 26, 64, 3, 3}};
  const Guarded<float> images(2 * 28 * 28 + 1, stream());
  const auto data = [&](const float* image) {
    const ReluPoolOptions options{.mode = ComputeMode::bf16,
                                  .stem = kernels::ReluPoolStem{.image = image}};
    try {
      conv2d_relu_pool_backward_data(nullptr, nullptr, nullptr, nullptr, d, GradientMode::overwrite,
                                     options, {}, stream());
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const char* reason = has_hopper(device()) ? "backward data is backward stem" : "with a stem";
  EXPECT_NE(data(images.data()).find(reason), std::string::npos) << data(images.data());
}

WEFT_ON_EACH_DEVICE(ReluPoolStem);

}  // namespace
}  // namespace weft::test
