// SPDX-License-Identifier: MIT
// What a trace tells, against kernels whose requests and costs are known by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "engine/tensor.h"
#include "host_cuda/access/access_trace.h"
#include "tests/host_cuda/counted_kernels.h"

namespace weft::test {
namespace {

using What = TracedEvent::What;

class Trace : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "accesses are recorded in the ordinary build";
#endif
    zero_bytes(x_.raw(), x_.bytes(), stream_);
  }

  // The sentence of the last request of this kind.
  static std::string sentence(AccessKind kind, const std::function<void()>& work) {
    const AccessTrace trace = trace_accesses(work);
    std::string found = "no such request";
    for (const TracedLaunch& launch : trace.launches) {
      for (const TracedEvent& event : launch.events) {
        if (event.what == What::request && event.kind == kind) {
          found = trace.sentences.at(event.sentence);
        }
      }
    }
    return found;
  }

  std::string strided(int stride, int first = 0) {
    return sentence(AccessKind::global_load, [&] {
      run_read_strided(out_.data<float>(), x_.data<float>() + first, stride, stream_);
    });
  }

  Stream stream_{Device::cuda()};
  Tensor x_{{4096}, DType::f32, stream_}, out_{{64}, DType::f32, stream_};
};

TEST_F(Trace, TellsOfBankConflicts) {
  const auto column = [&](bool padded) {
    return sentence(AccessKind::shared_load,
                    [&] { run_read_column(padded, out_.data<float>(), stream_); });
  };
  EXPECT_EQ(column(false), "32 lanes read words 32 apart, all in bank 0: 32 passes instead of 1.");
  EXPECT_EQ(column(true), "32 lanes read words 33 apart, no two in one bank: 1 pass.");
}

TEST_F(Trace, TellsOfWideAndSharedWords) {
  const auto vectors = [&](int bytes, int sharing, int stride) {
    return sentence(AccessKind::shared_load, [&] {
      run_read_shared_vectors(bytes, sharing, stride, out_.data<float>(), stream_);
    });
  };
  EXPECT_EQ(vectors(16, 1, 1),
            "32 lanes read 16 bytes each, side by side: 4 passes, the fewest for 512 bytes.");
  EXPECT_EQ(vectors(16, 32, 1), "32 lanes read the same 16 bytes, a broadcast: 2 passes.");
  // Eight lanes of a quarter warp want words 8 apart: two of them meet in each bank.
  EXPECT_EQ(vectors(16, 1, 2),
            "32 lanes read 16 bytes each, 32 bytes apart, up to 2 words in one bank (bank 0): 8 "
            "passes instead of 4.");
}

TEST_F(Trace, TellsOfSectors) {
  EXPECT_EQ(strided(1),
            "32 lanes read 4 bytes each, side by side: 4 sectors, every byte of them used.");
  EXPECT_EQ(strided(2),
            "32 lanes read 4 bytes each, 8 bytes apart: 8 sectors instead of 4; 128 of 256 bytes "
            "are used.");
  EXPECT_EQ(strided(32),
            "32 lanes read 4 bytes each, 128 bytes apart: 32 sectors instead of 4; 128 of 1024 "
            "bytes are used.");
  EXPECT_EQ(strided(0), "32 lanes read the same 4 bytes: 1 sector; 4 of 32 bytes are used.");
  EXPECT_EQ(strided(1, 1),
            "32 lanes read 4 bytes each, side by side, but not from the start of a sector: 5 "
            "sectors instead of 4; 128 of 160 bytes are used.");
}

TEST_F(Trace, TellsOfAtomicsOnOneAddress) {
  Tensor bins({64}, DType::i32, stream_);
  zero_bytes(bins.raw(), bins.bytes(), stream_);
  EXPECT_EQ(sentence(AccessKind::global_atomic,
                     [&] { run_add_to_bins(bins.data<std::int32_t>(), 4, stream_); }),
            "32 lanes update 4 bytes each, within 16 bytes without a gap: 1 sector; 16 of 32 bytes "
            "are used; 8 lanes update one address, one after another.");
}

TEST_F(Trace, HasTheAddressOfEachLane) {
  const AccessTrace trace = trace_accesses(
      [&] { run_read_strided(out_.data<float>(), x_.data<float>() + 8, 3, stream_); });
  ASSERT_EQ(trace.launches.size(), 1u);
  EXPECT_EQ(trace.launches[0].kernel, "read_strided");
  ASSERT_EQ(trace.launches[0].events.size(), 2u);
  const TracedEvent& load = trace.launches[0].events[0];
  ASSERT_EQ(load.offsets.size(), 32u);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(load.offsets[lane], static_cast<std::int64_t>(32 + 12 * lane));
  }
  EXPECT_EQ(trace.arrays.at(load.array).name, "global array 1");
  EXPECT_EQ(trace.arrays.at(load.array).bytes, 4u * 4096);
  const std::string& line = trace.lines.at(load.line);
  EXPECT_TRUE(line.starts_with("tests/host_cuda/counted_kernels.cu:")) << line;
  const std::string path = line.substr(0, line.find(':'));
  ASSERT_TRUE(trace.sources.contains(path));
  EXPECT_NE(trace.sources.at(path).find("read_strided"), std::string::npos);
}

TEST_F(Trace, HasBarriersAndSharedArraysByName) {
  const AccessTrace trace =
      trace_accesses([&] { run_read_column(false, out_.data<float>(), stream_); });
  ASSERT_EQ(trace.launches.size(), 1u);
  const std::vector<TracedEvent>& events = trace.launches[0].events;
  ASSERT_EQ(events.size(), 35u);  // 32 stores, a barrier, a load, a store
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(events[i].kind, AccessKind::shared_store);
    EXPECT_EQ(trace.arrays.at(events[i].array).name, "tile");
    EXPECT_EQ(events[i].phase, 0u);
    EXPECT_EQ(events[i].transactions, 1u);
    ASSERT_EQ(events[i].offsets.size(), 32u);
    EXPECT_EQ(events[i].offsets[5], static_cast<std::int64_t>(128 * i + 20));
  }
  EXPECT_EQ(events[32].what, What::barrier);
  EXPECT_EQ(events[33].phase, 1u);
  EXPECT_EQ(events[33].transactions, 32u);
  EXPECT_EQ(events[34].kind, AccessKind::global_store);
}

TEST_F(Trace, TellsWhichLanesPart) {
  const AccessTrace trace = trace_accesses(
      [&] { run_square_or_cube(out_.data<float>(), x_.data<float>(), 64, stream_); });
  ASSERT_EQ(trace.launches.size(), 1u);
  int branches = 0;
  for (const TracedEvent& event : trace.launches[0].events) {
    if (event.what != What::branch) continue;
    ++branches;
    ASSERT_EQ(event.parting.size(), 2u);
    EXPECT_EQ(event.parting[0], 0x55555555u);
    EXPECT_EQ(event.parting[1], 0xaaaaaaaau);
    EXPECT_EQ(trace.sentences.at(event.sentence),
              "The lanes part: 16 lanes go one way, 16 another. The warp takes one way after the "
              "other.");
  }
  EXPECT_EQ(branches, 2);  // one in each warp
}

TEST_F(Trace, ABarrierCanBeTakenOut) {
  const auto work = [&] { run_read_column(false, out_.data<float>(), stream_); };
  const AccessTrace trace = trace_accesses(work);
  std::string barrier;
  for (const TracedEvent& event : trace.launches.at(0).events) {
    if (event.what == What::barrier) barrier = trace.lines.at(event.line);
  }
  const WithoutBarrier run = run_without_barrier(barrier, work);
  EXPECT_TRUE(run.taken_out);
  EXPECT_TRUE(run.failure.find("race: kernel read_column") != std::string::npos) << run.failure;
  work();  // the barrier is there again: this throws nothing
  const WithoutBarrier other = run_without_barrier("tests/host_cuda/counted_kernels.cu:1", work);
  EXPECT_FALSE(other.taken_out);
  EXPECT_EQ(other.failure, "");
}

TEST_F(Trace, PaddingCanBeTakenOut) {
  const Padding padding{33 * 4, 4};
  const auto padded = [&] { run_read_column(true, out_.data<float>(), stream_); };
  const std::vector<WithoutPadding> lines = count_without_padding(padding, padded);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].line.find("counted_kernels.cu:"), std::string::npos) << lines[0].line;
  EXPECT_EQ(lines[0].with, lines[0].requests);
  EXPECT_EQ(lines[0].without, 32 * lines[0].requests);
  EXPECT_EQ(lines[0].sentence,
            "32 lanes read words 32 apart, all in bank 0: 32 passes instead of 1.");
  const auto plain = [&] { run_read_column(false, out_.data<float>(), stream_); };
  EXPECT_TRUE(count_without_padding(padding, plain).empty());  // none of its arrays has such rows
}

TEST_F(Trace, LeavesOutAndSaysSo) {
  const auto work = [&] {
    run_square_or_cube(out_.data<float>(), x_.data<float>(), 64, stream_);
    run_read_column(false, out_.data<float>(), stream_);
    run_read_column(false, out_.data<float>(), stream_);
  };
  TraceOptions few;
  few.launch_events = 5;
  few.events = 8;
  const AccessTrace trace = trace_accesses(work, few);
  ASSERT_EQ(trace.launches.size(), 2u);
  EXPECT_EQ(trace.launches_left_out, 1u);
  const TracedLaunch& parted = trace.launches[0];
  EXPECT_EQ(parted.warps, 1u);  // of two, which have more than 5 events
  EXPECT_GT(parted.left_out, 0u);
  for (const TracedEvent& event : parted.events) EXPECT_EQ(event.warp, 0u);
  EXPECT_EQ(trace.launches[1].events.size() + parted.events.size(), 8u);
  EXPECT_EQ(trace.launches[1].left_out, 35 - trace.launches[1].events.size());
}

TEST_F(Trace, ShowsTheBlocksThatWereAskedFor) {
  Tensor wide({256}, DType::f32, stream_);
  const auto work = [&] {
    run_square_or_cube(wide.data<float>(), x_.data<float>(), 256, stream_);  // 4 blocks
  };
  TraceOptions options;
  options.first_block = 2;
  options.blocks = 1;
  AccessTrace trace = trace_accesses(work, options);
  ASSERT_EQ(trace.launches.size(), 1u);
  ASSERT_FALSE(trace.launches[0].events.empty());
  for (const TracedEvent& event : trace.launches[0].events) EXPECT_EQ(event.block, 2u);
  options.first_block = 99;
  trace = trace_accesses(work, options);
  EXPECT_EQ(trace.launches[0].first_block, 3u);
  EXPECT_EQ(trace.launches[0].blocks, 1u);
}

}  // namespace
}  // namespace weft::test
