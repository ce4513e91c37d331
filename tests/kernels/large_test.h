// SPDX-License-Identifier: MIT
// Arrays of 2^24 + 1 elements and of 2^32 + 3 bytes, on every device: too large to look at each
// element on the host, so a table is repeated over and over, and the result must repeat, to the
// bit, what the same kernel makes of one period.
//
// A result is checked at its beginning, around 2^31 and 2^32 bytes and at its end, and as a whole
// by the sum of its bits, which finds what was not written and what was written twice. 2^31 and
// 2^32 are no multiples of the period, so an offset that wraps around reads the wrong values.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <tuple>

#include "kernels/reduce/reduce.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {

// 2^4 3 5 7 11: many shapes repeat after it, and its floats are a whole number of cache lines.
constexpr std::int64_t kPeriod = 18480;

// The sum over i < n of table[i % size], modulo 2^64.
template <class Value>
std::uint64_t periodic_sum(const std::vector<Value>& table, std::int64_t n) {
  const std::int64_t size = static_cast<std::int64_t>(table.size());
  std::uint64_t whole = 0, rest = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::uint64_t value = static_cast<std::uint64_t>(table[static_cast<std::size_t>(i)]);
    whole += value;
    if (i < n % size) rest += value;
  }
  return static_cast<std::uint64_t>(n / size) * whole + rest;
}

template <class T>
class Periodic {
 public:
  // Bits of ones, NaN in floats, to be written by a kernel.
  Periodic(std::int64_t n, const Stream& stream)
      : n_(n), stream_(stream), memory_(static_cast<std::size_t>(n) * sizeof(T), stream) {
    forget();
  }
  Periodic(std::int64_t n, const std::vector<T>& table, const Stream& stream)
      : n_(n), stream_(stream), memory_(static_cast<std::size_t>(n) * sizeof(T), stream) {
    fill(table);
  }

  T* data() { return static_cast<T*>(memory_.data()); }
  const T* data() const { return static_cast<const T*>(memory_.data()); }
  std::int64_t size() const { return n_; }

  void forget() {
    std::vector<T> ones(1024);
    std::memset(ones.data(), 0xff, ones.size() * sizeof(T));
    fill(ones);
  }
  void fill(const std::vector<T>& table) {
    const std::int64_t period = static_cast<std::int64_t>(table.size());
    std::int64_t filled = std::min(period, n_);
    copy_from_host(TensorView<T>{data(), Shape{filled}, stream_.device()},
                   std::span<const T>(table).first(static_cast<std::size_t>(filled)), stream_);
    while (filled < n_) {
      const std::int64_t more = std::min(filled, n_ - filled);
      copy_bytes(data() + filled, stream_.device(), data(), stream_.device(),
                 static_cast<std::size_t>(more) * sizeof(T), stream_);
      filled += more;
    }
  }

  // Elements first to first + count, cut off at both ends of the array.
  std::vector<T> window(std::int64_t first, std::int64_t count) const {
    const std::int64_t last = std::min(n_, first + count);
    first = std::max<std::int64_t>(first, 0);
    std::vector<T> values(static_cast<std::size_t>(std::max<std::int64_t>(last - first, 0)));
    copy_bytes(values.data(), Device::cpu(), data() + first, stream_.device(),
               values.size() * sizeof(T), stream_);
    stream_.synchronize();
    return values;
  }
  // Where windows of 2 kHalf elements are worth looking at.
  static constexpr std::int64_t kHalf = 5000;
  std::vector<std::int64_t> places() const {
    std::vector<std::int64_t> found = {0, n_ / 3, n_};
    for (const std::int64_t bytes : {std::int64_t{1} << 31, std::int64_t{1} << 32}) {
      const std::int64_t place = bytes / static_cast<std::int64_t>(sizeof(T));
      if (place - kHalf < n_) found.push_back(place);
    }
    return found;
  }

  // Does element i hold table[i % table.size()], but for the first `front` elements, a multiple of
  // the period, and the last `back`?
  testing::AssertionResult repeats(const std::vector<T>& table, const std::string& what,
                                   std::int64_t front = 0, std::int64_t back = 0) const {
    const std::int64_t period = static_cast<std::int64_t>(table.size());
    for (const std::int64_t place : places()) {
      const std::int64_t first = std::max(place - kHalf, front);
      const std::int64_t end = std::min(place + kHalf, n_ - back);
      const std::vector<T> found = window(first, end - first);
      for (std::int64_t i = first; i < end; ++i) {
        const T& value = found[static_cast<std::size_t>(i - first)];
        const T& expected = table[static_cast<std::size_t>(i % period)];
        if (std::memcmp(&value, &expected, sizeof(T)) != 0) {
          return testing::AssertionFailure() << what << ": element " << i << " of " << n_ << " is "
                                             << +value << ", expected " << +expected;
        }
      }
    }
    if (table.size() * sizeof(T) % 4 != 0 || front % period != 0) {
      return testing::AssertionFailure() << what << ": the period does not fit";
    }
    const std::int64_t bytes = (n_ - front - back) * static_cast<std::int64_t>(sizeof(T));
    std::vector<std::uint32_t> words(table.size() * sizeof(T) / 4);
    std::memcpy(words.data(), table.data(), words.size() * 4);
    const std::uint32_t found = sum_of_words(data() + front, bytes / 4);
    const std::uint32_t expected = static_cast<std::uint32_t>(periodic_sum(words, bytes / 4));
    if (found != expected) {
      return testing::AssertionFailure() << what << ": the bits of " << n_ << " elements add up to "
                                         << found << ", expected " << expected;
    }
    return testing::AssertionSuccess();
  }

 private:
  std::uint32_t sum_of_words(const T* first, std::int64_t words) const {
    const kernels::ReduceOptions options;
    const Buffer scratch(
        kernels::reduce_workspace_bytes<std::int32_t>(words, options, stream_.device()), stream_);
    Tensor sum(Shape{1}, DType::i32, stream_);
    kernels::reduce(sum.data<std::int32_t>(), reinterpret_cast<const std::int32_t*>(first), words,
                    kernels::Reduction::sum, options, {scratch.data(), scratch.bytes()}, stream_);
    return static_cast<std::uint32_t>(to_host(sum.view<std::int32_t>(), stream_)[0]);
  }

  std::int64_t n_;
  Stream stream_;
  Buffer memory_;
};

// Free memory of the host in bytes, by Linux's own estimate; 0 when that is not to be had.
inline double available_host_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    double kilobytes = 0;
    if (word == "MemAvailable:" && file >> kilobytes) return 1024 * kilobytes;
  }
  return 0;
}

// The device, and whether arrays have 2^32 + 3 bytes, rounded up to elements, or 2^24 + 1 elements.
class LargeTest : public testing::TestWithParam<std::tuple<Device::Type, bool>> {
 protected:
  void SetUp() override {
    const bool cuda = std::get<0>(GetParam()) == Device::Type::cuda;
    if (small_tests()) GTEST_SKIP() << "WEFT_SMALL_TESTS is set";
    if (cuda && cuda_status().device_count == 0) {
      GTEST_SKIP() << "no GPU: " << cuda_status().reason;
    }
    if (huge() && cuda) {
      const std::size_t memory = device_properties(Device::cuda()).memory_bytes;
      if (memory < std::size_t{16} << 30) GTEST_SKIP() << "needs 16 GiB of GPU memory";
    } else if (huge()) {
      if (std::getenv("WEFT_LARGE_TESTS") == nullptr) {
        GTEST_SKIP() << "2^32 + 3 bytes on the CPU: set WEFT_LARGE_TESTS=1 (9 GB of memory)";
      }
      if (available_host_bytes() < 10e9) GTEST_SKIP() << "needs 10 GB of free memory";
    }
    stream_ = std::make_unique<Stream>(cuda ? Device::cuda() : Device::cpu());
  }

  bool huge() const { return std::get<1>(GetParam()); }
  Device device() const { return stream_->device(); }
  const Stream& stream() const { return *stream_; }

  template <class T>
  std::int64_t elements() const {
    constexpr std::int64_t kBytes = (std::int64_t{1} << 32) + 3;
    const std::int64_t size = static_cast<std::int64_t>(sizeof(T));
    return huge() ? (kBytes + size - 1) / size : (1 << 24) + 1;
  }
  // Rows of so many elements that make up at least as many.
  template <class T>
  std::int64_t rows_of(std::int64_t cols) const {
    return elements<T>() / cols + 1;
  }

 private:
  std::unique_ptr<Stream> stream_;
};

inline std::string large_label(const testing::TestParamInfo<LargeTest::ParamType>& info) {
  return str(std::get<0>(info.param) == Device::Type::cpu ? "cpu" : "cuda",
             std::get<1>(info.param) ? "_2e32_bytes" : "_2e24_elements");
}

#define WEFT_LARGE_ON_EACH_DEVICE(Fixture)                                                 \
  INSTANTIATE_TEST_SUITE_P(                                                                \
      On, Fixture,                                                                         \
      testing::Combine(testing::Values(weft::Device::Type::cpu, weft::Device::Type::cuda), \
                       testing::Bool()),                                                   \
      weft::test::large_label)

}  // namespace weft::test
