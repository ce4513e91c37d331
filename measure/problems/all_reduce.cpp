// SPDX-License-Identifier: MIT
// All-reduce of two ranks on one device, in one kernel: what is left of a call without the link. It
// works in place, so every call doubles what the one before has left, until that is infinite.
#include "kernels/all_reduce/all_reduce.h"

#include <algorithm>
#include <cmath>

#include "measure/families.h"

namespace weft::measure {
namespace {

constexpr int kRanks = 2;

class AllReduceWork final : public Work {
 public:
  AllReduceWork(std::int64_t n, const Context& made_with)
      : Work(made_with),
        host_a_(random_values(n, made_with.seed)),
        host_b_(random_values(n, made_with.seed + 1)),
        a_(host_a_, sets_of(n, made_with), made_with.stream),
        b_(host_b_, sets_of(n, made_with), made_with.stream),
        memory_(zeros(kRanks * (peer_floats(n) + 64)), 1, made_with.stream) {
    problem = str(n, " floats, ", kRanks, " ranks on one device");
    bytes = 8.0 * kRanks * static_cast<double>(n);  // values read, sums written
    flops = static_cast<double>((kRanks - 1) * n);
    sets = sets_of(n, made_with);
    group_.size = kRanks;
    group_.capacity = n;
    for (int r = 0; r < kRanks; ++r) group_.memory[r] = memory_[0] + r * peer_floats(n);
  }

  bool can_run(std::string_view variant) const override {
    return kernels::all_reduce_takes(variant, a_.size(), group_, context.stream.device());
  }
  void call(std::string_view variant, int set) override {
    float* const values[kRanks] = {a_[set], b_[set]};
    kernels::all_reduce(values, a_.size(), group_, variant, context.stream);
  }
  void reset() override {
    for (int set = 0; set < sets; ++set) {
      const Device device = context.stream.device();
      copy_bytes(a_[set], device, host_a_.data(), Device::cpu(), a_.bytes(set).count,
                 context.stream);
      copy_bytes(b_[set], device, host_b_.data(), Device::cpu(), b_.bytes(set).count,
                 context.stream);
    }
    context.stream.synchronize();
  }

  Verdict check(int set, Arithmetic) override {
    const std::vector<float> found_a = a_.host(set), found_b = b_.host(set);
    Comparison comparison;
    for (std::size_t i = 0; i < found_a.size(); ++i) {
      const int doublings = static_cast<int>(std::min<std::int64_t>(runs - 1, 1000));
      const float expected = std::ldexp(host_a_[i] + host_b_[i], doublings);
      for (const float found : {found_a[i], found_b[i]}) {
        const bool infinite = std::isinf(expected) && found == expected;
        comparison.add(infinite ? 0 : found, infinite ? 0 : static_cast<double>(expected), 0);
      }
    }
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override { return {a_.bytes(set), b_.bytes(set)}; }

 private:
  static int sets_of(std::int64_t n, const Context& c) {
    return sets_for(8.0 * kRanks * static_cast<double>(n), c.stream.device());
  }
  static std::int64_t peer_floats(std::int64_t n) {  // a multiple of 256 bytes
    return static_cast<std::int64_t>(kernels::peer_memory_bytes(n) / 256 + 1) * 64;
  }
  static std::vector<float> zeros(std::int64_t n) {
    return std::vector<float>(static_cast<std::size_t>(n), 0.0f);
  }

  std::vector<float> host_a_, host_b_;
  Rotated<float> a_, b_, memory_;
  kernels::PeerGroup group_;
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<AllReduceWork>(size, context);
}

constexpr std::int64_t kLenet = 61706;  // the gradient of lenet5

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  const auto sizes = device.is_cpu() ? std::vector<std::int64_t>{kLenet}
                                     : std::vector<std::int64_t>{256, kLenet, 1 << 20};
  for (const std::int64_t n : sizes) {
    all.push_back([n](const Context& c) { return std::make_unique<AllReduceWork>(n, c); });
  }
  return all;
}

std::vector<NamedChoice> choices(std::span<const std::int64_t> size, Device device) {
  return {{str(kRanks, " ranks"),
           kernels::all_reduce_choice(size[0], {0, kRanks, size[0], {}}, device)}};
}

}  // namespace

extern const FamilyBench all_reduce_bench = {
    .family = "all_reduce",
    .size_meaning = "floats",
    .default_size = kLenet,
    .largest_size = std::int64_t{1} << 24,
    .sized = sized,
    .problems = problems,
    .choices = choices,
};

}  // namespace weft::measure
