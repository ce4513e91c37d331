// SPDX-License-Identifier: MIT
#include "bench/bench_pool.h"

#include "bench/families.h"
#include "kernels/pool/cpu.h"

namespace weft::bench {
namespace {

std::int64_t inputs(const kernels::PoolDims& d) {
  return d.n * d.c * d.h * d.w;
}
std::int64_t outputs(const kernels::PoolDims& d) {
  return d.n * d.c * d.oh() * d.ow();
}
double footprint(const kernels::PoolDims& d) {
  return 4.0 * static_cast<double>(inputs(d) + outputs(d));
}

}  // namespace

PoolWork::PoolWork(const kernels::PoolDims& d, const Context& made_with)
    : Work(made_with),
      dims(d),
      host_x_(random_values(inputs(d), made_with.seed)),
      x_(host_x_, sets_for(footprint(d), made_with.stream.device()), made_with.stream),
      y_(outputs(d), sets_for(footprint(d), made_with.stream.device()), made_with.stream) {
  problem = str("max ", d.kh, "x", d.kw, " of ", d.n, " x ", d.c, " x ", d.h, " x ", d.w);
  bytes = footprint(d);
  flops = static_cast<double>(outputs(d) * d.kh * d.kw);
  sets = sets_for(bytes, made_with.stream.device());
}

void PoolWork::call(std::string_view, int set) {
  kernels::max_pool2d_forward(y_[set], nullptr, x_[set], dims, context.stream);
}

Verdict PoolWork::check(int set, Arithmetic) {
  const std::vector<float> found = y_.host(set);
  kernels::PoolDims plane = dims;
  plane.n = plane.c = 1;
  const std::int64_t in = dims.h * dims.w, out = dims.oh() * dims.ow();
  std::vector<float> expected(static_cast<std::size_t>(out));
  Comparison comparison;
  for (const std::int64_t p : sample_indices(dims.n * dims.c, 16, context.seed)) {
    kernels::cpu::max_pool2d_forward<float>(expected.data(), nullptr, host_x_.data() + p * in,
                                            plane);
    for (std::int64_t i = 0; i < out; ++i) {
      comparison.add(found[static_cast<std::size_t>(p * out + i)],
                     expected[static_cast<std::size_t>(i)], 0);
    }
  }
  return comparison.verdict();
}

namespace {

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<PoolWork>(kernels::PoolDims{.n = size, .c = 32, .h = 28, .w = 28},
                                    context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const auto shape = [](const kernels::PoolDims& dims) {
    return [=](const Context& c) { return std::make_unique<PoolWork>(dims, c); };
  };
  if (device.is_cpu()) return {shape({.n = 64, .c = 32, .h = 28, .w = 28})};
  return {shape({.n = 256, .c = 6, .h = 28, .w = 28}),
          shape({.n = 256, .c = 64, .h = 112, .w = 112}),
          shape({.n = 64, .c = 64, .h = 112, .w = 112, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1})};
}

}  // namespace

extern const FamilyBench pool_bench = {
    "pool", "images of 32 x 28 x 28", 64, std::int64_t{1} << 20, sized, problems};

}  // namespace weft::bench
