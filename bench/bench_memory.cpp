// SPDX-License-Identifier: MIT
// The memory kernels: vector add, then bandwidth by offset and by stride as the courses print it.
#include "bench/families.h"
#include "kernels/memory/memory.h"

namespace weft::bench {
namespace {

using kernels::Access;

class VectorAddWork final : public Work {
 public:
  VectorAddWork(std::int64_t n, const Context& made_with)
      : Work(made_with),
        host_a_(random_values(n, made_with.seed)),
        host_b_(random_values(n, made_with.seed + 1)),
        a_(host_a_, sets_of(n, made_with), made_with.stream),
        b_(host_b_, sets_of(n, made_with), made_with.stream),
        c_(n, sets_of(n, made_with), made_with.stream) {
    problem = str("vector add, ", n, " floats");
    bytes = kernels::vector_add_bytes_moved(n);
    flops = static_cast<double>(n);
    sets = sets_of(n, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return variant.starts_with("vector_add");
  }
  void call(std::string_view variant, int set) override {
    kernels::vector_add(c_[set], a_[set], b_[set], c_.size(),
                        variant == "vector_add" ? kernels::VectorAddVariant::scalar
                                                : kernels::VectorAddVariant::vectorized,
                        context.stream);
  }
  void reset() override { c_.clear(); }
  Verdict check(int set, Arithmetic) override {
    const std::vector<float> found = c_.host(set);
    Comparison comparison;
    for (std::size_t i = 0; i < found.size(); ++i)
      comparison.add(found[i], host_a_[i] + host_b_[i], 0);
    return comparison.verdict();
  }

 private:
  static int sets_of(std::int64_t n, const Context& c) {
    return sets_for(12.0 * static_cast<double>(n), c.stream.device());
  }

  std::vector<float> host_a_, host_b_;
  Rotated<float> a_, b_, c_;
};

// copy_by_offset and copy_by_stride; bytes are those asked for, not those that the memory moves.
class CopyWork final : public Work {
 public:
  CopyWork(std::int64_t n, const Access& access, const Context& made_with)
      : Work(made_with),
        n_(n),
        access_(access),
        host_x_(random_values(access.extent(n), made_with.seed)),
        x_(host_x_, sets_of(n, access, made_with), made_with.stream),
        y_(n, sets_of(n, access, made_with), made_with.stream) {
    problem = access.stride == 1 ? str("copy of ", n, " floats, offset ", access.offset)
                                 : str("copy of ", n, " floats, stride ", access.stride);
    table = str("copy of ", n, " floats, GB/s of use by ", access.stride == 1 ? "offset" : "stride",
                " in floats");
    column = str(access.stride == 1 ? access.offset : access.stride);
    bytes = kernels::copy_strided_bytes_moved(n);
    sets = sets_of(n, access, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return variant == (access_.stride == 1 ? "copy_by_offset" : "copy_by_stride");
  }
  void call(std::string_view, int set) override {
    kernels::copy_strided(y_[set], x_[set], n_, access_, context.stream);
  }
  void reset() override { y_.clear(); }
  Verdict check(int set, Arithmetic) override {
    const std::vector<float> found = y_.host(set);
    Comparison comparison;
    for (std::int64_t i = 0; i < n_; ++i) {
      comparison.add(found[static_cast<std::size_t>(i)],
                     host_x_[static_cast<std::size_t>(access_.offset + i * access_.stride)], 0);
    }
    return comparison.verdict();
  }

 private:
  static int sets_of(std::int64_t n, const Access& access, const Context& c) {
    return sets_for(4.0 * static_cast<double>(n + access.extent(n)), c.stream.device());
  }

  std::int64_t n_;
  Access access_;
  std::vector<float> host_x_;
  Rotated<float> x_, y_;
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<VectorAddWork>(size, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  const bool gpu = device.is_cuda();
  all.push_back([=](const Context& c) {
    return std::make_unique<VectorAddWork>(std::int64_t{1} << (gpu ? 26 : 22), c);
  });
  const auto copy = [&](std::int64_t offset, std::int64_t stride) {
    all.push_back([=](const Context& c) {
      return std::make_unique<CopyWork>(std::int64_t{1} << (gpu ? 24 : 20), Access{offset, stride},
                                        c);
    });
  };
  for (const std::int64_t offset : {0, 1, 2, 4, 8, 16, 32}) copy(offset, 1);
  for (const std::int64_t stride : {2, 4, 8, 16, 32}) copy(0, stride);
  return all;
}

}  // namespace

extern const FamilyBench memory_bench = {"memory", "floats to add", 1 << 20, std::int64_t{1} << 31,
                                         sized,    problems};

}  // namespace weft::bench
