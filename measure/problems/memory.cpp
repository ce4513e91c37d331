// SPDX-License-Identifier: MIT
// The memory kernels, and the tables "bandwidth by offset" and "by stride" of the courses.
#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/error.h"
#include "kernels/memory/memory.h"
#include "measure/families.h"

namespace weft::measure {
namespace {

using kernels::Access;
using kernels::MemoryOperation;

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
    return kernels::memory_takes(variant, MemoryOperation::vector_add, context.stream.device());
  }
  void call(std::string_view variant, int set) override {
    kernels::vector_add(c_[set], a_[set], b_[set], c_.size(), variant, context.stream);
  }
  void reset() override { c_.clear(); }
  Verdict check(int set, Arithmetic) override {
    const std::vector<float> found = c_.host(set);
    Comparison comparison;
    for (std::size_t i = 0; i < found.size(); ++i)
      comparison.add(found[i], host_a_[i] + host_b_[i], 0);
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override { return {c_.bytes(set)}; }

 private:
  static int sets_of(std::int64_t n, const Context& c) {
    return sets_for(12.0 * static_cast<double>(n), c.stream.device());
  }

  std::vector<float> host_a_, host_b_;
  Rotated<float> a_, b_, c_;
};

// What the tables by offset and by stride call their rows: bytes of use, which is what the program
// asked for, and not what the memory had to move.
void name_access(Work& work, std::string_view what, std::int64_t n, const Access& access,
                 bool by_offset) {
  work.problem = str(what, " of ", n, " words, ", by_offset ? "offset " : "stride ",
                     by_offset ? access.offset : access.stride);
  if (by_offset && access.stride > 1) work.problem += str(", stride ", access.stride);
  if (!by_offset && access.offset > 0) work.problem += str(", offset ", access.offset);
  work.table = str("bandwidth by ", by_offset ? "offset" : "stride",
                   " in words of 4 bytes: GB/s of use, ", n, " words");
  work.column = str(by_offset ? access.offset : access.stride);
}

// Does a rung vary the offset, or the stride, of this operation?
bool varies(std::string_view rung, MemoryOperation operation, bool by_offset) {
  const kernels::MemoryTraits traits = kernels::memory_traits(rung);
  return traits.operation == operation && traits.by_offset == by_offset;
}

class CopyWork final : public Work {
 public:
  CopyWork(std::int64_t n, const Access& access, bool by_offset, const Context& made_with)
      : Work(made_with),
        n_(n),
        access_(access),
        by_offset_(by_offset),
        host_x_(random_values(access.extent(n), made_with.seed)),
        x_(host_x_, sets_of(n, access, made_with), made_with.stream),
        y_(n, sets_of(n, access, made_with), made_with.stream) {
    name_access(*this, "copy", n, access, by_offset);
    bytes = kernels::copy_strided_bytes_moved(n);
    sets = sets_of(n, access, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return varies(variant, MemoryOperation::copy, by_offset_);
  }
  bool takes_flag(std::string_view flag, std::string_view) const override {
    return flag == "--offset" || flag == "--stride";
  }
  std::vector<Fact> facts(std::string_view variant) const override {
    return memory_facts(access_, variant);
  }
  void call(std::string_view variant, int set) override {
    kernels::copy_strided(y_[set], x_[set], n_, access_, variant, context.stream);
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
  std::vector<Bytes> written(int set) override { return {y_.bytes(set)}; }

 private:
  static int sets_of(std::int64_t n, const Access& access, const Context& c) {
    return sets_for(4.0 * static_cast<double>(n + access.extent(n)), c.stream.device());
  }

  std::int64_t n_;
  Access access_;
  bool by_offset_;
  std::vector<float> host_x_;
  Rotated<float> x_, y_;
};

class ReadWork final : public Work {
 public:
  ReadWork(std::int64_t n, const Access& access, bool by_offset, const Context& made_with)
      : Work(made_with),
        n_(n),
        access_(access),
        by_offset_(by_offset),
        host_x_(whole_numbers(access.extent(n), made_with.seed)),
        x_(host_x_, sets_of(n, access, made_with), made_with.stream),
        sum_(1, sets_of(n, access, made_with), made_with.stream) {
    name_access(*this, "read", n, access, by_offset);
    bytes = kernels::read_strided_bytes_moved(n);
    sets = sets_of(n, access, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return varies(variant, MemoryOperation::read, by_offset_);
  }
  bool takes_flag(std::string_view flag, std::string_view) const override {
    return flag == "--offset" || flag == "--stride";
  }
  std::vector<Fact> facts(std::string_view variant) const override {
    return memory_facts(access_, variant);
  }
  void call(std::string_view variant, int set) override {
    kernels::read_strided(sum_[set], x_[set], n_, access_, variant, context.stream);
  }
  void reset() override { sum_.clear(); }
  Verdict check(int set, Arithmetic) override {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      sum += host_x_[static_cast<std::size_t>(access_.offset + i * access_.stride)];
    }
    Comparison comparison;
    comparison.add(static_cast<double>(sum_.host(set)[0]), static_cast<double>(sum), 0);
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override { return {sum_.bytes(set)}; }

 private:
  static int sets_of(std::int64_t n, const Access& access, const Context& c) {
    return sets_for(4.0 * static_cast<double>(access.extent(n)), c.stream.device());
  }
  static std::vector<std::int32_t> whole_numbers(std::int64_t n, std::uint64_t seed) {
    const std::vector<float> values = random_values(n, seed, 0, 1000);
    return {values.begin(), values.end()};
  }

  std::int64_t n_;
  Access access_;
  bool by_offset_;
  std::vector<std::int32_t> host_x_;
  Rotated<std::int32_t> x_;
  Rotated<std::int64_t> sum_;
};

// shared_by_stride. On the CPU there are no banks: it computes the same sums.
class SharedWork final : public Work {
 public:
  SharedWork(std::int64_t blocks, int stride, int rounds, const Context& made_with)
      : Work(made_with),
        stride_(stride),
        rounds_(rounds),
        sums_(blocks * kernels::kSharedThreads, 1, made_with.stream) {
    problem = str("shared memory, ", blocks, " blocks, ", rounds, " rounds, stride ", stride);
    table = str("shared memory by stride in words of 4 bytes: GB/s, ", blocks, " blocks");
    column = str(stride);
    bytes = kernels::shared_strided_bytes_read(blocks, rounds);
    traffic = Traffic::shared_memory;
  }

  bool can_run(std::string_view variant) const override {
    return kernels::memory_takes(variant, MemoryOperation::shared, context.stream.device());
  }
  bool takes_flag(std::string_view flag, std::string_view) const override {
    return flag == "--stride";
  }
  std::vector<Fact> facts(std::string_view variant) const override {
    return memory_facts({0, stride_}, variant);
  }
  void call(std::string_view, int set) override {
    kernels::shared_strided(reinterpret_cast<std::uint32_t*>(sums_[set]),
                            sums_.size() / kernels::kSharedThreads, stride_, rounds_,
                            context.stream);
  }
  void reset() override { sums_.clear(); }
  Verdict check(int set, Arithmetic) override {
    const std::vector<std::int32_t> found = sums_.host(set);
    Comparison comparison;
    for (const std::int64_t at : sample_indices(sums_.size(), 1 << 14, context.seed)) {
      const std::int64_t thread = at % kernels::kSharedThreads;
      std::uint32_t sum = 0;
      for (int round = 0; round < rounds_; ++round) {
        const std::int64_t first =
            (thread * stride_ + round * kernels::kSharedReads) % kernels::kSharedWords;
        for (int k = 0; k < kernels::kSharedReads; ++k) {
          sum += static_cast<std::uint32_t>(first + k);
        }
      }
      comparison.add(static_cast<std::uint32_t>(found[static_cast<std::size_t>(at)]), sum, 0);
    }
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override { return {sums_.bytes(set)}; }

 private:
  int stride_, rounds_;
  Rotated<std::int32_t> sums_;  // bits of unsigned values
};

// dense_rows and pitched_rows. Both read and write what a row holds, at another pitch.
class RowsWork final : public Work {
 public:
  RowsWork(std::int64_t rows, std::int64_t cols, const Context& made_with)
      : Work(made_with),
        rows_(rows),
        cols_(cols),
        host_x_(random_values(rows * kernels::pitch_for(cols), made_with.seed)),
        x_(host_x_, sets_of(rows, cols, made_with), made_with.stream),
        y_(rows * kernels::pitch_for(cols), sets_of(rows, cols, made_with), made_with.stream) {
    problem = str("copy of ", rows, " rows of ", cols, " floats");
    bytes = kernels::copy_rows_bytes_moved(rows, cols);
    one_kernel = true;  // with another pitch
    sets = sets_of(rows, cols, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return kernels::memory_takes(variant, MemoryOperation::rows, context.stream.device());
  }
  void call(std::string_view variant, int set) override {
    pitch_ = kernels::memory_traits(variant).pitched ? kernels::pitch_for(cols_) : cols_;
    kernels::copy_rows(y_[set], x_[set], rows_, cols_, pitch_, pitch_, variant, context.stream);
  }
  void reset() override { y_.clear(); }
  Verdict check(int set, Arithmetic) override {
    const std::vector<float> found = y_.host(set);
    Comparison comparison;
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (std::int64_t c = 0; c < cols_; ++c) {
        const std::size_t i = static_cast<std::size_t>(row * pitch_ + c);
        comparison.add(found[i], host_x_[i], 0);
      }
    }
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override { return {y_.bytes(set)}; }

 private:
  static int sets_of(std::int64_t rows, std::int64_t cols, const Context& c) {
    return sets_for(8.0 * static_cast<double>(rows * cols), c.stream.device());
  }

  std::int64_t rows_, cols_, pitch_ = cols_;
  std::vector<float> host_x_;
  Rotated<float> x_, y_;
};

// pageable_transfer and pinned_transfer: to the device, and from there to another place.
class TransferWork final : public Work {
 public:
  TransferWork(std::int64_t n, const Context& made_with)
      : Work(made_with),
        host_x_(random_values(n, made_with.seed)),
        device_(n, 1, made_with.stream) {
    problem = str("transfer of ", 4 * n, " bytes to the device and back");
    bytes = 8.0 * static_cast<double>(n);
    traffic = Traffic::host_bus;
  }

  bool can_run(std::string_view variant) const override {
    return kernels::memory_takes(variant, MemoryOperation::transfer, context.stream.device());
  }
  void call(std::string_view variant, int set) override {
    const std::size_t count = device_.bytes(set).count;
    if (variant_ != variant) prepare(variant, count);
    kernels::transfer_to_device(device_[set], *from_, count, context.stream);
    kernels::transfer_to_host(*to_, device_[set], count, context.stream);
  }
  void reset() override {
    device_.clear();
    if (to_) std::memset(to_->data(), 0xff, to_->bytes());
  }
  Verdict check(int, Arithmetic) override {
    context.stream.synchronize();
    const float* found = to_ ? static_cast<const float*>(to_->data()) : nullptr;
    Comparison comparison;
    for (std::size_t i = 0; found != nullptr && i < host_x_.size(); ++i) {
      comparison.add(found[i], host_x_[i], 0);
    }
    return comparison.verdict();
  }

 private:
  // Host memory of the kind that the variant is about, in place of the kind before.
  void prepare(std::string_view variant, std::size_t count) {
    const kernels::HostMemory kind = kernels::memory_traits(variant).memory;
    context.stream.synchronize();
    from_.emplace(count, kind, context.stream.device());
    to_.emplace(count, kind, context.stream.device());
    std::memcpy(from_->data(), host_x_.data(), count);
    std::memset(to_->data(), 0xff, count);
    variant_ = variant;
  }

  std::vector<float> host_x_;
  Rotated<float> device_;
  std::string variant_;
  std::optional<kernels::HostBuffer> from_, to_;
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
      return std::make_unique<CopyWork>(size, access, traits.by_offset, context);
    case MemoryOperation::read:
      return std::make_unique<ReadWork>(size, access, traits.by_offset, context);
    case MemoryOperation::shared:
      return std::make_unique<SharedWork>(std::max<std::int64_t>(1, size >> 14),
                                          given ? static_cast<int>(access.stride) : 2, 32, context);
    case MemoryOperation::rows:
      return std::make_unique<RowsWork>(size, 33, context);
    case MemoryOperation::transfer:
      return std::make_unique<TransferWork>(size, context);
    default:
      return std::make_unique<VectorAddWork>(size, context);
  }
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  const bool gpu = device.is_cuda();
  const std::int64_t n = std::int64_t{1} << (gpu ? 23 : 16);
  all.push_back([=](const Context& c) { return std::make_unique<VectorAddWork>(8 * n, c); });
  const auto access = [&](std::int64_t words, const Access& where, bool by_offset) {
    all.push_back(
        [=](const Context& c) { return std::make_unique<CopyWork>(words, where, by_offset, c); });
    all.push_back(
        [=](const Context& c) { return std::make_unique<ReadWork>(words, where, by_offset, c); });
  };
  for (const std::int64_t offset : {0, 1, 2, 4, 8, 16, 32}) access(2 * n, {offset, 1}, true);
  for (const std::int64_t stride : {1, 2, 4, 8, 16, 32}) access(n, {0, stride}, false);
  for (const int stride : {1, 2, 4, 8, 16, 32, 33}) {
    all.push_back([=](const Context& c) {
      return std::make_unique<SharedWork>(gpu ? kSharedBlocks : 4, stride, gpu ? kSharedRounds : 32,
                                          c);
    });
  }
  all.push_back([=](const Context& c) { return std::make_unique<RowsWork>(n / 8, 33, c); });
  all.push_back([=](const Context& c) { return std::make_unique<RowsWork>(n / 256, 1025, c); });
  all.push_back([=](const Context& c) { return std::make_unique<TransferWork>(8 * n, c); });
  return all;
}

}  // namespace

extern const FamilyBench memory_bench = {
    "memory", "elements, or rows of 33 floats", 1 << 20, std::int64_t{1} << 28, sized, problems};

}  // namespace weft::measure
