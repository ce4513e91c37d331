// SPDX-License-Identifier: MIT
#include "measure/problems/reduce.h"

#include "measure/families.h"

namespace weft::measure {

ReduceWork::ReduceWork(std::int64_t n, int threads, const Context& made_with,
                       bool queued_one_by_one)
    : Work(made_with),
      threads_(threads),
      host_x_(random_integers(n, made_with.seed)),
      x_(host_x_, sets_for(4.0 * static_cast<double>(n), made_with.stream.device()),
         made_with.stream),
      result_(1, sets_for(4.0 * static_cast<double>(n), made_with.stream.device()),
              made_with.stream) {
  problem = str("sum of ", n, " floats");
  if (threads > 0) {
    table = str(problem, ", GB/s by threads per block");
    column = str(threads);
    problem += str(", ", threads, " threads per block");
  }
  one_by_one = queued_one_by_one;
  if (one_by_one) problem += ", queued one by one";
  bytes = kernels::reduce_bytes(n, sizeof(float));
  flops = kernels::reduce_flops(n);
  sets = sets_for(bytes, made_with.stream.device());
}

void ReduceWork::call(std::string_view variant, int set) {
  kernels::ReduceOptions options;
  options.variant = variant;
  if (threads_ > 0) options.threads = threads_;
  const std::size_t needed =
      kernels::reduce_workspace_bytes<float>(n(), options, context.stream.device());
  if (scratch_.bytes() < needed) {
    scratch_ = Tensor(Shape{static_cast<std::int64_t>(needed)}, DType::u8, context.stream);
  }
  kernels::reduce<float>(result_[set], x_[set], n(), kernels::Reduction::sum, options,
                         {scratch_.raw(), scratch_.bytes()}, context.stream);
}

Verdict ReduceWork::check(int set, Arithmetic) {
  double sum = 0;
  for (const float x : host_x_) sum += static_cast<double>(x);
  Comparison comparison;
  comparison.add(result_.host(set)[0], sum, 0);
  return comparison.verdict();
}

namespace {

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<ReduceWork>(size, context.block, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  const auto add = [&](int bits, int threads) {
    all.push_back([=](const Context& c) {
      return std::make_unique<ReduceWork>(std::int64_t{1} << bits, threads, c);
    });
  };
  if (device.is_cpu()) {
    add(16, 0);
    add(24, 0);
    return all;
  }
  add(20, 0);
  all.push_back([](const Context& c) {
    return std::make_unique<ReduceWork>(std::int64_t{1} << 20, 0, c, true);
  });
  add(28, 0);
  // The table of the course: every version with every size of block.
  for (const int threads : {32, 64, 128, 256, 512, 1024}) add(24, threads);
  return all;
}

}  // namespace

extern const FamilyBench reduce_bench = {"reduce", "floats", 1 << 20, std::int64_t{1} << 32,
                                         sized,    problems};

}  // namespace weft::measure
