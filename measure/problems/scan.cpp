// SPDX-License-Identifier: MIT
#include "measure/problems/scan.h"

#include "measure/families.h"

namespace weft::measure {

ScanWork::ScanWork(std::int64_t n, const Context& made_with)
    : Work(made_with),
      host_x_(random_integers(n, made_with.seed)),
      x_(host_x_, sets_for(8.0 * static_cast<double>(n), made_with.stream.device()),
         made_with.stream),
      y_(n, sets_for(8.0 * static_cast<double>(n), made_with.stream.device()), made_with.stream) {
  problem = str(n, " floats, inclusive sum");
  bytes = kernels::scan_bytes(n, sizeof(float));
  flops = kernels::scan_flops(n);
  sets = sets_for(bytes, made_with.stream.device());
}

void ScanWork::call(std::string_view variant, int set) {
  const kernels::ScanOptions options{.variant = variant};
  const std::size_t needed =
      kernels::scan_workspace_bytes<float>(n(), options, context.stream.device());
  if (scratch_.bytes() < needed) {
    scratch_ = Tensor(Shape{static_cast<std::int64_t>(needed)}, DType::u8, context.stream);
  }
  kernels::scan<float>(y_[set], x_[set], n(), options, {scratch_.raw(), scratch_.bytes()},
                       context.stream);
}

Verdict ScanWork::check(int set, Arithmetic) {
  const std::vector<float> found = y_.host(set);
  Comparison comparison;
  double sum = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    sum += static_cast<double>(host_x_[i]);
    comparison.add(found[i], sum, 0);
  }
  return comparison.verdict();
}

namespace {

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<ScanWork>(size, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  for (const int bits :
       device.is_cuda() ? std::vector<int>{20, 24, 28} : std::vector<int>{16, 24}) {
    all.push_back([bits](const Context& c) {
      return std::make_unique<ScanWork>(std::int64_t{1} << bits, c);
    });
  }
  return all;
}

}  // namespace

extern const FamilyBench scan_bench = {
    .family = "scan",
    .size_meaning = "floats",
    .default_size = 1 << 20,
    .largest_size = std::int64_t{1} << 31,
    .sized = sized,
    .problems = problems,
    .choices = [](std::span<const std::int64_t> size, Device device) {
      return std::vector<NamedChoice>{{"floats", kernels::scan_choice({size[0]}, device)}};
    }};

}  // namespace weft::measure
