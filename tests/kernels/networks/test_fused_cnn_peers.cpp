// SPDX-License-Identifier: MIT
// The exchange inside of the persistent kernel. One device runs one such kernel at a time, so the
// ranks take turns: what a rank would send first is left in the memory of the others by a step that
// is then undone.
#include <algorithm>
#include <memory>

#include "kernels/all_reduce/parts/peer_memory.h"
#include "kernels/networks/cnn/fused_cnn.h"
#include "tests/kernels/networks/fused_cnn_problem.h"

namespace weft::test {
namespace {

using kernels::PeerGroup;
using kernels::peers::Word;

constexpr kernels::SgdOptions kPeerMomentum{0.9f, 5e-4f, true};
const std::vector<float> kPeerRates = {0.1f, 0.05f, 0.2f, 0.01f};

FusedCnnOptions peer_options(std::int64_t count, std::int64_t batch) {
  FusedCnnOptions options;
  options.order = {count, (count + batch - 1) / batch, batch, true, 7};
  options.normalization = {0.1307f, 0.3081f};
  options.sgd = kPeerMomentum;
  return options;
}

// Ranks that train on shares of a batch, with all of their memory on one device.
class TurningRanks {
 public:
  TurningRanks(const FusedCnnDims& dims, std::int64_t count,
               const std::vector<std::int64_t>& shares, const Stream& stream)
      : shares_(shares), capacity_(dims.parameters()), groups_(shares.size()) {
    std::int64_t batch = 0;
    for (const std::int64_t share : shares) batch += share;
    const int size = static_cast<int>(shares.size());
    for (int r = 0; r < size; ++r) {
      const std::size_t bytes = kernels::peer_memory_bytes(capacity_);
      memory_.push_back(std::make_unique<Guarded<std::int64_t>>(
          std::vector<std::int64_t>(bytes / sizeof(std::int64_t) + 1), stream));
    }
    std::int64_t first = 0;
    for (int r = 0; r < size; ++r) {
      PeerGroup& group = groups_[static_cast<std::size_t>(r)];
      group = {r, size, capacity_, {}};
      for (int peer = 0; peer < size; ++peer) group.memory[peer] = memory(peer).data();
      FusedCnnOptions options = peer_options(count, batch);
      options.order.first = first;
      options.peers = &group;
      options.global_rows = batch;
      first += shares[static_cast<std::size_t>(r)];
      ranks_.push_back(std::make_unique<FusedCnnProblem>(dims, options, kPeerRates, stream));
    }
  }

  // One step of all ranks. Rank r's first try finds zeros from the others and only sends.
  void step() {
    ++call_;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const auto parameters = ranks_[r]->parameters(), velocity = ranks_[r]->velocity();
      const std::int64_t step = ranks_[r]->step();
      Guarded<std::int64_t>& mine = memory(static_cast<int>(r));
      const std::vector<std::int64_t> before = mine.get();
      std::vector<std::int64_t> answered = before;
      for (std::size_t peer = 0; peer < ranks_.size(); ++peer) {
        Word* words =
            kernels::peers::words_in(answered.data(), capacity_, call_, static_cast<int>(peer));
        for (std::int64_t i = 0; i < capacity_; ++i) words[i] = call_ << 32;
      }
      mine.set(answered);
      ranks_[r]->train(shares_[r], 1);
      ranks_[r]->set_state(parameters, velocity, step);
      mine.set(before);
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) ranks_[r]->train(shares_[r], 1);
  }

  FusedCnnProblem& rank(std::size_t r) { return *ranks_[r]; }
  std::int64_t calls(int r) { return memory(r).get()[0]; }
  std::int64_t last_of_calls(int r) { return memory(r).get()[kernels::kAllReduceBlocks - 1]; }
  // The kernel raises no flags: they are for calls of all_reduce, which may follow.
  bool has_flags(int r) {
    const std::vector<std::int64_t> words = memory(r).get();
    const auto flags = words.begin() + kernels::kAllReduceBlocks;
    const auto end = flags + kernels::kAllReduceBlocks * kernels::kMaxPeers;
    return std::any_of(flags, end, [](std::int64_t flag) { return flag != 0; });
  }

 private:
  Guarded<std::int64_t>& memory(int r) { return *memory_[static_cast<std::size_t>(r)]; }

  std::vector<std::int64_t> shares_;
  std::int64_t capacity_;
  Word call_ = 0;
  std::vector<PeerGroup> groups_;
  std::vector<std::unique_ptr<Guarded<std::int64_t>>> memory_;
  std::vector<std::unique_ptr<FusedCnnProblem>> ranks_;
};

class FusedCnnPeers : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && device().is_cpu()) GTEST_SKIP() << "peers are GPUs";
  }
};

TEST_P(FusedCnnPeers, AGroupOfOneChangesNoBit) {
  for (const std::int64_t rows : {3, 9}) {
    FusedCnnProblem alone(kSmallCnn, peer_options(20, 9), kPeerRates, stream());
    TurningRanks one(kSmallCnn, 20, {9}, stream());
    one.rank(0).options().global_rows = rows;
    alone.train(rows, 2);
    alone.train(rows, 1);
    one.rank(0).train(rows, 2);
    one.rank(0).train(rows, 1);
    EXPECT_TRUE(same_bits(one.rank(0).parameters(), alone.parameters())) << rows;
    EXPECT_TRUE(same_bits(one.rank(0).velocity(), alone.velocity())) << rows;
    EXPECT_EQ(one.rank(0).step(), 3);
    EXPECT_EQ(one.rank(0).totals().rows, 3 * rows);
    EXPECT_EQ(one.rank(0).totals().hits, alone.totals().hits);
    EXPECT_EQ(one.calls(0), 3);
    EXPECT_EQ(one.last_of_calls(0), 3);
    EXPECT_FALSE(one.has_flags(0));
  }
}

TEST_P(FusedCnnPeers, AGroupOfOneChangesNoBitOfLenet5) {
  const FusedCnnDims dims = kernels::lenet5_dims(10);
  if (small_tests() || !kernels::fused_cnn_supports(dims, device())) {
    GTEST_SKIP() << "LeNet-5 does not fit this device, or takes too long on it";
  }
  for (const std::int64_t batch : {64, 300}) {  // one image of a block at a time, and two
    FusedCnnProblem alone(dims, peer_options(1000, batch), kPeerRates, stream());
    TurningRanks one(dims, 1000, {batch}, stream());
    alone.train(batch, 3);
    one.rank(0).train(batch, 3);
    EXPECT_TRUE(same_bits(one.rank(0).parameters(), alone.parameters())) << batch;
    EXPECT_TRUE(same_bits(one.rank(0).velocity(), alone.velocity())) << batch;
  }
}

// Also with a rank that has no rows, and more rows than a round of the grid takes.
TEST_P(FusedCnnPeers, RanksFollowTheWholeBatch) {
  const std::vector<std::int64_t> all[] = {{5, 4}, {1, 0}, {0, 3}, {3, 2, 4}};
  for (const std::vector<std::int64_t>& shares : all) {
    std::int64_t batch = 0;
    for (const std::int64_t share : shares) batch += share;
    TurningRanks ranks(kSmallCnn, 2 * batch + 1, shares, stream());
    FusedCnnProblem whole(kSmallCnn, peer_options(2 * batch + 1, batch), kPeerRates, stream());
    for (int step = 0; step < 2; ++step) {
      const std::string what = str(shares.size(), " ranks, batch ", batch, ", step ", step);
      ranks.step();
      whole.train(batch, 1);
      for (std::size_t r = 0; r < shares.size(); ++r) {
        EXPECT_TRUE(same_bits(ranks.rank(r).parameters(), ranks.rank(0).parameters())) << what;
        EXPECT_TRUE(same_bits(ranks.rank(r).velocity(), ranks.rank(0).velocity())) << what;
        EXPECT_EQ(ranks.calls(static_cast<int>(r)), step + 1) << what;
      }
      // Gradients are below 1 and agree to some units of their last place; two steps of rate 0.1.
      EXPECT_TRUE(compare(ranks.rank(0).parameters(), to_double(whole.parameters()),
                          {2e-6, 1e-6, false}, what));
      EXPECT_TRUE(compare(ranks.rank(0).velocity(), to_double(whole.velocity()),
                          {4e-6, 1e-5, false}, what + ", velocity"));
    }
  }
}

TEST_P(FusedCnnPeers, RefusesWhatItCannotDo) {
  TurningRanks one(kSmallCnn, 20, {9}, stream());
  const PeerGroup good = *one.rank(0).options().peers;
  const auto train = [&](const PeerGroup* group, std::int64_t global_rows,
                         std::string_view variant = kernels::kAutomatic) {
    one.rank(0).options().peers = group;
    one.rank(0).options().global_rows = global_rows;
    one.rank(0).options().variant = variant;
    one.rank(0).train(9, 1);
  };
  PeerGroup small = good, outside = good, many = good;
  --small.capacity;
  outside.rank = 1;
  many.size = 9;
  EXPECT_USAGE_ERROR(train(nullptr, 9), "there are none");
  EXPECT_USAGE_ERROR(train(&good, 8), "9 rows of a rank, but 8");
  EXPECT_USAGE_ERROR(train(&good, 9, "two_kernels"), "persistent");
  EXPECT_USAGE_ERROR(train(&small, 9), "in the exchange memory");
  EXPECT_USAGE_ERROR(train(&outside, 9), "1 of 1");
  EXPECT_USAGE_ERROR(train(&many, 9), "0 of 9");
  EXPECT_EQ(one.rank(0).step(), 0);
}

WEFT_ON_EACH_DEVICE(FusedCnnPeers);

}  // namespace
}  // namespace weft::test
