// SPDX-License-Identifier: MIT
#include "kernels/all_reduce/all_reduce.h"

#include <algorithm>
#include <memory>

#include "kernels/all_reduce/parts/peer_memory.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using kernels::PeerGroup;

constexpr std::string_view kTechniques[] = {"one_shot", "tagged_words"};

// The values of some ranks and their exchange memories, all on one device.
class TestRanks {
 public:
  TestRanks(int size, std::int64_t capacity, const Stream& stream) : stream_(stream) {
    group.size = size;
    group.capacity = capacity;
    const std::vector<std::uint8_t> zeros(kernels::peer_memory_bytes(capacity), 0);
    for (int r = 0; r < size; ++r) {
      memory_.push_back(std::make_unique<Guarded<std::uint8_t>>(zeros, stream));
      group.memory[r] = memory_.back()->data();
    }
  }

  void set(const std::vector<std::vector<float>>& values, std::int64_t misalign = 0) {
    values_.clear();
    for (const std::vector<float>& of_rank : values) {
      values_.push_back(std::make_unique<Guarded<float>>(of_rank, stream_, misalign));
    }
  }
  std::vector<float> get(int rank) const { return values_[static_cast<std::size_t>(rank)]->get(); }
  float* values(int rank) { return values_[static_cast<std::size_t>(rank)]->data(); }

  void reduce(std::int64_t n, std::string_view variant) {
    std::vector<float*> pointers;
    for (const auto& of_rank : values_) pointers.push_back(of_rank->data());
    kernels::all_reduce(pointers, n, group, variant, stream_);
  }
  // A rank's values in the slot that a call takes.
  std::vector<float> slot(int rank, int call) const {
    std::vector<std::uint8_t> bytes = memory_[static_cast<std::size_t>(rank)]->get();
    const float* first = kernels::peers::slot_in(bytes.data(), group.capacity,
                                                 static_cast<kernels::peers::Word>(call));
    return {first, first + group.capacity};
  }
  // Fails the running test when something was written beside the exchange memories.
  void check_memory() const {
    for (const auto& of_rank : memory_) static_cast<void>(of_rank->get());
  }

  PeerGroup group;

 private:
  Stream stream_;
  std::vector<std::unique_ptr<Guarded<std::uint8_t>>> memory_;
  std::vector<std::unique_ptr<Guarded<float>>> values_;
};

std::vector<std::vector<float>> rank_values(int size, std::int64_t n, std::uint64_t seed) {
  std::vector<std::vector<float>> values;
  for (int r = 0; r < size; ++r) {
    values.push_back(random_floats(n, seed + static_cast<std::uint64_t>(r)));
  }
  return values;
}

// In the order of the ranks, and in double.
struct RankSums {
  std::vector<float> in_order;
  std::vector<double> exact;

  explicit RankSums(const std::vector<std::vector<float>>& values)
      : in_order(values[0]), exact(to_double(values[0])) {
    for (std::size_t r = 1; r < values.size(); ++r) {
      for (std::size_t i = 0; i < in_order.size(); ++i) {
        in_order[i] += values[r][i];
        exact[i] += static_cast<double>(values[r][i]);
      }
    }
  }
};

// Values are in [-1, 1]: each of up to seven additions rounds by 2^-24 of at most 8.
constexpr Bound kSumBound{7 * 8 * 6e-8, 0, false};

void expect_sums(const TestRanks& ranks, const RankSums& expected, const std::string& what) {
  for (int r = 0; r < ranks.group.size; ++r) {
    const std::vector<float> found = ranks.get(r);
    EXPECT_TRUE(same_bits(found, expected.in_order)) << what << ", rank " << r;
    EXPECT_TRUE(compare(found, expected.exact, kSumBound, str(what, ", rank ", r)));
  }
}

class AllReduce : public DeviceTest {};

TEST_P(AllReduce, AddsInTheOrderOfTheRanks) {
  const int most = built_for_host_cuda() ? 5 : 8;  // it sees a thread wait for 8 words, not for 14
  for (const int size : {1, 2, 3, most}) {
    for (const std::string_view variant : kTechniques) {
      for (const std::int64_t n :
           sizes_here({1, 2, 3, 4, 5, 1021, 1024, 1025, 8191, 16411}, {1, 33, 1024, 1025})) {
        for (const std::int64_t misalign : {0, 1}) {
          TestRanks ranks(size, n, stream());
          const auto values = rank_values(size, n, 11);
          ranks.set(values, misalign);
          ranks.reduce(n, variant);
          expect_sums(ranks, RankSums(values), str(variant, ", ", size, " ranks, ", n));
          ranks.check_memory();
        }
      }
    }
  }
}

// More than the largest grid takes at once, up to what fits.
TEST_P(AllReduce, LargeArraysGoAround) {
  const std::int64_t n = small_tests() ? 70001 : 131072;
  for (const std::string_view variant : kTechniques) {
    TestRanks ranks(2, 131072, stream());
    const auto values = rank_values(2, n, 5);
    ranks.set(values);
    ranks.reduce(n, variant);
    expect_sums(ranks, RankSums(values), str(variant, ", ", n));
  }
}

// Halves are taken in turn, and grids differ from call to call; a call of nothing is none.
TEST_P(AllReduce, CallsFollowEachOther) {
  constexpr std::int64_t kSizes[] = {5000, 1, 0, 4099, 4099, 2, 0, 5000, 513, 3001};
  TestRanks ranks(3, 5000, stream());
  int call = 0;
  for (const std::string_view variant : {kTechniques[0], kTechniques[1], kernels::kAutomatic}) {
    for (const std::int64_t n : kSizes) {
      const auto values = rank_values(3, std::max<std::int64_t>(n, 1), 100 + 3 * ++call);
      ranks.set(values);
      ranks.reduce(n, call % 4 == 0 ? kTechniques[call / 4 % 2] : variant);
      if (n > 0) {
        expect_sums(ranks, RankSums(values), str("call ", call, " of ", n));
        continue;
      }
      for (int r = 0; r < 3; ++r) {
        EXPECT_TRUE(same_bits(ranks.get(r), values[static_cast<std::size_t>(r)]));
      }
    }
  }
  ranks.check_memory();
}

// Peers may still read the slot of a call when the next one has begun.
TEST_P(AllReduce, ACallLeavesTheSlotOfTheOneBefore) {
  if (device().is_cpu()) GTEST_SKIP() << "there are no slots";
  const std::int64_t n = 64;  // as much as fits: the slots lie side by side
  TestRanks ranks(2, n, stream());
  std::vector<std::vector<float>> before = rank_values(2, n, 21);
  for (int call = 1; call <= 3; ++call) {
    const auto values = rank_values(2, n, 23 + 2 * static_cast<std::uint64_t>(call));
    ranks.set(values);
    ranks.reduce(n, "one_shot");
    for (int r = 0; r < 2; ++r) {
      EXPECT_TRUE(same_bits(ranks.slot(r, call), values[static_cast<std::size_t>(r)]));
      if (call == 1) continue;
      EXPECT_TRUE(same_bits(ranks.slot(r, call - 1), before[static_cast<std::size_t>(r)])) << call;
    }
    before = values;
  }
}

// Doubling is exact, and a replay that read what another call has left would not double.
TEST_P(AllReduce, ReplaysAsAGraph) {
  const std::int64_t n = small_tests() ? 503 : 2003;
  const int replays = small_tests() ? 10 : 100;
  for (const std::string_view variant : kTechniques) {
    TestRanks ranks(2, n, stream());
    const auto values = rank_values(2, n, 3);
    ranks.set(values);
    Graph graph(stream(), [&] { ranks.reduce(n, variant); });
    for (int replay = 0; replay < replays; ++replay) graph.launch();
    std::vector<float> expected = RankSums(values).in_order;
    for (float& value : expected) value = std::ldexp(value, replays - 1);
    for (int r = 0; r < 2; ++r) EXPECT_TRUE(same_bits(ranks.get(r), expected)) << variant;
  }
}

TEST_P(AllReduce, NanReachesAllRanks) {
  for (const std::string_view variant : kTechniques) {
    TestRanks ranks(3, 100, stream());
    auto values = rank_values(3, 100, 9);
    values[1][57] = kNan;
    ranks.set(values);
    ranks.reduce(100, variant);
    for (int r = 0; r < 3; ++r) {
      const std::vector<float> found = ranks.get(r);
      for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(std::isnan(found[i]), i == 57);
    }
  }
}

// Each rank with a kernel and a stream of its own, as on several GPUs. The grids are small, so that
// the kernels run at once.
TEST_P(AllReduce, RanksInStreamsOfTheirOwn) {
  if (device().is_cpu() || built_for_host_cuda()) GTEST_SKIP() << "kernels run one by one here";
  constexpr std::int64_t kSizes[] = {16411, 1, 4099, 2, 16411, 513};
  for (const int size : {2, 3}) {
    for (const std::string_view variant : kTechniques) {
      TestRanks ranks(size, 16411, stream());
      std::vector<Stream> streams;
      for (int r = 0; r < size; ++r) streams.emplace_back(device());
      for (const std::int64_t n : kSizes) {
        const auto values = rank_values(size, n, 40);
        ranks.set(values);
        stream().synchronize();
        for (int repeat = 0; repeat < 50; ++repeat) {
          for (int r = 0; r < size; ++r) {
            PeerGroup group = ranks.group;
            group.rank = r;
            float* mine = ranks.values(r);
            kernels::all_reduce({&mine, 1}, n, group, variant,
                                streams[static_cast<std::size_t>(r)]);
          }
        }
        for (const Stream& of_rank : streams) of_rank.synchronize();
        std::vector<float> expected = RankSums(values).in_order;
        for (int repeat = 1; repeat < 50; ++repeat) {
          for (float& value : expected) {
            const float once = value;
            for (int r = 1; r < size; ++r) value += once;
          }
        }
        for (int r = 0; r < size; ++r) {
          EXPECT_TRUE(same_bits(ranks.get(r), expected)) << variant << ", " << n << ", rank " << r;
        }
      }
      ranks.check_memory();
    }
  }
}

TEST_P(AllReduce, RefusesWhatItCannotDo) {
  TestRanks ranks(2, 100, stream());
  ranks.set(rank_values(2, 101, 1));
  float* both[2] = {ranks.values(0), ranks.values(1)};
  const auto reduce = [&](std::span<float* const> values, std::int64_t n, int rank, int size,
                          std::string_view variant = kernels::kAutomatic) {
    PeerGroup group = ranks.group;
    group.rank = rank;
    group.size = size;
    kernels::all_reduce(values, n, group, variant, stream());
  };
  EXPECT_USAGE_ERROR(reduce(both, 1, 0, 0), "1 to 8 ranks");
  EXPECT_USAGE_ERROR(reduce(both, 1, 0, 9), "found 9");
  EXPECT_USAGE_ERROR(reduce(both, 1, 1, 2), "found 2 from 1");
  EXPECT_USAGE_ERROR(reduce({both, 1}, 1, -1, 2), "from -1");
  EXPECT_USAGE_ERROR(reduce({both, std::size_t{0}}, 1, 0, 2), "found 0");
  EXPECT_USAGE_ERROR(reduce(both, -1, 0, 2), "negative");
  EXPECT_USAGE_ERROR(reduce(both, 1, 0, 2, "ring"), "one_shot, tagged_words");
  EXPECT_USAGE_ERROR(static_cast<void>(kernels::peer_memory_bytes(-1)), "negative");
  if (device().is_cpu()) {
    EXPECT_USAGE_ERROR(reduce({both, 1}, 1, 0, 2), "on a CPU all 2");
  } else {
    EXPECT_USAGE_ERROR(reduce(both, 101, 0, 2), "at most 100");
    PeerGroup large{0, 1, kernels::kMostTaggedWords + 1, {ranks.group.memory[0]}};
    EXPECT_USAGE_ERROR(kernels::all_reduce({both, 1}, kernels::kMostTaggedWords + 1, large,
                                           "tagged_words", stream()),
                       "131072 floats at most");
  }
  EXPECT_TRUE(same_bits(ranks.get(0), rank_values(2, 101, 1)[0]));
}

WEFT_ON_EACH_DEVICE(AllReduce);

}  // namespace
}  // namespace weft::test
