// SPDX-License-Identifier: MIT
// The memory kernels, and the tables "bandwidth by offset" and "by stride" of the courses.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "kernels/memory/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

using kernels::Access;
using kernels::MemoryOperation;

class VectorAddWork final : public ProblemWork<problems::VectorAdd> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    return kernels::memory_takes(variant, MemoryOperation::vector_add, device());
  }
  void call(std::string_view variant, int set) override {
    kernels::vector_add(c_[set], a_[set], b_[set], p.n, variant, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    compare_each(comparison, c_, set,
                 [&](std::size_t i) { return Exact{a_.host[i] + b_.host[i]}; });
  }

  Array<float>& a_ = input("a", random_values(p.n, seed()));
  Array<float>& b_ = input("b", random_values(p.n, seed() + 1));
  Array<float>& c_ = output("c", p.n);
};

class StridedWork : public ProblemWork<problems::Strided> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    const kernels::MemoryTraits traits = kernels::memory_traits(variant);
    return traits.operation == (p.copies ? MemoryOperation::copy : MemoryOperation::read) &&
           traits.by_offset == p.by_offset;
  }
  bool takes_flag(std::string_view flag, std::string_view) const override {
    return flag == "--offset" || flag == "--stride";
  }
  std::vector<Fact> facts(std::string_view variant) const override {
    return memory_facts(p.access, variant);
  }
};

class CopyWork final : public StridedWork {
 public:
  using StridedWork::StridedWork;

  void call(std::string_view variant, int set) override {
    kernels::copy_strided(y_[set], x_[set], p.n, p.access, variant, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    compare_each(comparison, y_, set, [&](std::int64_t i) { return Exact{x_(p.source(i))}; });
  }

  Array<float>& x_ = input("x", random_values(p.access.extent(p.n), seed()));
  Array<float>& y_ = output("y", p.n);
};

class ReadWork final : public StridedWork {
 public:
  using StridedWork::StridedWork;

  void call(std::string_view variant, int set) override {
    kernels::read_strided(sum_[set], x_[set], p.n, p.access, variant, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    double sum = 0;
    for (std::int64_t i = 0; i < p.n; ++i) sum += x_(p.source(i));
    compare_each(comparison, sum_, set, [=](std::int64_t) { return Exact{sum}; });
  }
  static std::vector<std::int32_t> whole_numbers(std::int64_t n, std::uint64_t seed) {
    const std::vector<float> values = random_values(n, seed, 0, 1000);
    return {values.begin(), values.end()};
  }

  Array<std::int32_t>& x_ = input("x", whole_numbers(p.access.extent(p.n), seed()));
  Array<std::int64_t>& sum_ = output<std::int64_t>("sum", 1);
};

class SharedWork final : public ProblemWork<problems::SharedStrided> {
 public:
  SharedWork(const Problem& of, const Context& made_with) : ProblemWork(of, made_with) {
    traffic = Traffic::shared_memory;
  }

  bool can_run(std::string_view variant) const override {
    return kernels::memory_takes(variant, MemoryOperation::shared, device());
  }
  bool takes_flag(std::string_view flag, std::string_view) const override {
    return flag == "--stride";
  }
  std::vector<Fact> facts(std::string_view variant) const override {
    return memory_facts({0, p.stride}, variant);
  }
  void call(std::string_view, int set) override {
    kernels::shared_strided(reinterpret_cast<std::uint32_t*>(sums_[set]), p.blocks, p.stride,
                            p.rounds, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    const auto expect = [&](std::int64_t i) {
      return Exact{static_cast<double>(static_cast<std::int32_t>(p.expected(i)))};
    };
    compare_each(comparison, sums_, set, expect, 1 << 14);
  }

  // Bits of unsigned values.
  Array<std::int32_t>& sums_ = output<std::int32_t>("sums", p.blocks* kernels::kSharedThreads);
};

// dense_rows and pitched_rows. Both read and write what a row holds, at another pitch.
class RowsWork final : public ProblemWork<problems::CopyRows> {
 public:
  RowsWork(const Problem& of, const Context& made_with) : ProblemWork(of, made_with) {
    one_kernel = true;  // with another pitch
  }

  bool can_run(std::string_view variant) const override {
    return kernels::memory_takes(variant, MemoryOperation::rows, device());
  }
  void call(std::string_view variant, int set) override {
    pitch_ = kernels::memory_traits(variant).pitched ? kernels::pitch_for(p.cols) : p.cols;
    kernels::copy_rows(y_[set], x_[set], p.rows, p.cols, pitch_, pitch_, variant, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    const std::vector<float> found = y_.found(set);
    for (std::int64_t i = 0; i < p.rows * pitch_; ++i) {
      if (i % pitch_ < p.cols) comparison.add(found[static_cast<std::size_t>(i)], x_(i), 0);
    }
  }

  std::int64_t pitch_ = p.cols;
  Array<float>& x_ = input("x", random_values(p.rows* kernels::pitch_for(p.cols), seed()));
  Array<float>& y_ = output("y", x_.size());
};

class TransferWork final : public ProblemWork<problems::Transfer> {
 public:
  TransferWork(const Problem& of, const Context& made_with) : ProblemWork(of, made_with) {
    traffic = Traffic::host_bus;
  }

  bool can_run(std::string_view variant) const override {
    return kernels::memory_takes(variant, MemoryOperation::transfer, device());
  }
  void call(std::string_view variant, int set) override {
    const std::size_t count = there_.bytes(set).count;
    last_ = &ends_of(kernels::memory_traits(variant).memory, count);
    kernels::transfer_to_device(there_[set], last_->from, count, context.stream);
    kernels::transfer_to_host(last_->to, there_[set], count, context.stream);
  }
  void reset() override {
    ProblemWork::reset();
    for (const auto& [kind, ends] : ends_) std::memset(ends->to.data(), 0xff, ends->to.bytes());
  }
  // check() reads what came back to the host.
  std::vector<Bytes> written(int) override { return {}; }

 private:
  void compare(Comparison& comparison, int, Arithmetic) override {
    context.stream.synchronize();
    const float* found = last_ != nullptr ? static_cast<const float*>(last_->to.data()) : nullptr;
    for (std::size_t i = 0; found != nullptr && i < x_.size(); ++i) {
      comparison.add(found[i], x_[i], 0);
    }
  }
  // Where a transfer begins and where it ends.
  struct Ends {
    kernels::HostBuffer from, to;
  };
  // The buffers of a kind stay: a graph that was recorded with them may be replayed at any time.
  Ends& ends_of(kernels::HostMemory kind, std::size_t count) {
    std::unique_ptr<Ends>& ends = ends_[kind];
    if (ends == nullptr) {
      ends = std::make_unique<Ends>(Ends{{count, kind, device()}, {count, kind, device()}});
      std::memcpy(ends->from.data(), x_.data(), count);
      std::memset(ends->to.data(), 0xff, count);
    }
    return *ends;
  }

  const std::vector<float> x_ = random_values(p.n, seed());
  Array<float>& there_ = output("device", p.n);
  std::map<kernels::HostMemory, std::unique_ptr<Ends>> ends_;
  const Ends* last_ = nullptr;  // of the last call
};

constexpr int kSharedBlocks = 1056, kSharedRounds = 512;  // eight blocks for each SM of an H200

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  const kernels::MemoryTraits traits = kernels::memory_traits(context.variant);
  const Parameters& asked = context.parameters;
  const bool given = asked.offset > 0 || asked.stride > 0;
  Access access = traits.by_offset ? Access{1, 1} : Access{0, 2};
  if (given) access = {asked.offset, std::max<std::int64_t>(1, asked.stride)};
  const bool strided =
      traits.operation == MemoryOperation::copy || traits.operation == MemoryOperation::read;
  constexpr std::int64_t kMost = std::int64_t{1} << 28;
  if (strided && size * access.stride > kMost) {
    throw Error(ErrorKind::usage, str("--stride: ", size, " words ", access.stride, " apart span ",
                                      size * access.stride, " words; expected at most ", kMost,
                                      ", take a smaller --size"));
  }
  switch (traits.operation.value_or(MemoryOperation::vector_add)) {
    case MemoryOperation::copy:
      return made<CopyWork>({size, access, traits.by_offset})(context);
    case MemoryOperation::read:
      return made<ReadWork>({size, access, traits.by_offset, false})(context);
    case MemoryOperation::shared:
      return made<SharedWork>({std::max<std::int64_t>(1, size >> 14),
                               given ? static_cast<int>(access.stride) : 2, 32})(context);
    case MemoryOperation::rows:
      return made<RowsWork>({size, 33})(context);
    case MemoryOperation::transfer:
      return made<TransferWork>({size})(context);
    default:
      return made<VectorAddWork>({size})(context);
  }
}

std::vector<MakeWork> problems_on(Device device) {
  const bool gpu = device.is_cuda();
  const std::int64_t n = std::int64_t{1} << (gpu ? 23 : 16);
  std::vector<MakeWork> all = {made<VectorAddWork>({8 * n})};
  const auto access = [&](std::int64_t words, const Access& where, bool by_offset) {
    all.push_back(made<CopyWork>({words, where, by_offset}));
    all.push_back(made<ReadWork>({words, where, by_offset, false}));
  };
  for (const std::int64_t offset : {0, 1, 2, 4, 8, 16, 32}) access(2 * n, {offset, 1}, true);
  for (const std::int64_t stride : {1, 2, 4, 8, 16, 32}) access(n, {0, stride}, false);
  for (const int stride : {1, 2, 4, 8, 16, 32, 33}) {
    all.push_back(made<SharedWork>({gpu ? kSharedBlocks : 4, stride, gpu ? kSharedRounds : 32}));
  }
  all.push_back(made<RowsWork>({n / 8, 33}));
  all.push_back(made<RowsWork>({n / 256, 1025}));
  all.push_back(made<TransferWork>({8 * n}));
  return all;
}

}  // namespace

extern const FamilyBench memory_bench = {
    "memory", "elements, or rows of 33 floats", 1 << 20, std::int64_t{1} << 28, sized, problems_on};

}  // namespace weft::measure
