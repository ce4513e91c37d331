// SPDX-License-Identifier: MIT
#include "engine/stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "engine/error.h"
#include "engine/tensor.h"
#include "engine/timer.h"
#include "tests/support/device_test.h"

namespace weft {
namespace {

class StreamTest : public test::DeviceTest {};

TEST_P(StreamTest, CopiesNameTheSameQueue) {
  const Stream copy = stream();
  EXPECT_TRUE(copy == stream());
  EXPECT_FALSE(Stream(device()) == stream());
  EXPECT_EQ(copy.device(), device());
  EXPECT_EQ(copy.native() == nullptr, device().is_cpu());
}

TEST_P(StreamTest, CountsBytes) {
  EXPECT_EQ(stream().live_bytes(), 0u);
  {
    const Buffer a(1000, stream());
    const Buffer b(500, stream());
    EXPECT_EQ(stream().live_bytes(), 1500u);
  }
  EXPECT_EQ(stream().live_bytes(), 0u);
  const Buffer c(100, stream());
  EXPECT_EQ(stream().live_bytes(), 100u);
  EXPECT_EQ(stream().peak_bytes(), 1500u);
}

TEST_P(StreamTest, HasZeroedWords) {
  if (device().is_cpu()) {
    EXPECT_EQ(stream().zeroed_words(), nullptr);
    return;
  }
  EXPECT_EQ(Stream(stream()).zeroed_words(), stream().zeroed_words());
  EXPECT_NE(Stream(device()).zeroed_words(), stream().zeroed_words());
  std::vector<unsigned long long> words(Stream::kZeroedWords, 1);
  copy_bytes(words.data(), Device::cpu(), stream().zeroed_words(), device(), words.size() * 8,
             stream());
  stream().synchronize();
  for (const unsigned long long word : words) EXPECT_EQ(word, 0u);
}

TEST_P(StreamTest, BuffersAreAlignedAndMove) {
  Buffer a(1, stream());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 256, 0u);
  const void* memory = a.data();
  Buffer b(std::move(a));
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(a.bytes(), 0u);
  EXPECT_EQ(b.data(), memory);
  Buffer c(64, stream());
  c = std::move(b);
  EXPECT_EQ(c.data(), memory);
  EXPECT_EQ(stream().live_bytes(), 1u);
}

TEST_P(StreamTest, ZeroBytesHoldNothing) {
  const Buffer empty(0, stream());
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_EQ(stream().live_bytes(), 0u);
}

TEST_P(StreamTest, BuffersOutliveTheirHandle) {
  Buffer buffer;
  {
    const Stream short_lived(device());
    buffer = Buffer(128, short_lived);
  }
  EXPECT_NE(buffer.data(), nullptr);
}

TEST_P(StreamTest, TooMuchMemoryIsADeviceError) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer stops the program on such a request";
#endif
  try {
    const Buffer buffer(SIZE_MAX / 4, stream());
    ADD_FAILURE() << "allocated " << buffer.bytes() << " bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
  }
  EXPECT_EQ(stream().live_bytes(), 0u);
  const Buffer after(16, stream());  // the failure leaves the stream usable
  EXPECT_NE(after.data(), nullptr);
}

TEST_P(StreamTest, EventsMeasureTime) {
  Event begin(device()), end(device());
  begin.record(stream());
  stream().synchronize();
  const Timer timer;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  end.record(stream());
  const double seconds = Event::seconds_between(begin, end);
  EXPECT_GE(seconds, 0.004);
  EXPECT_LT(seconds, timer.seconds() + 1);
}

TEST_P(StreamTest, GraphsReplayWork) {
  Tensor source = tensor_from_host<float>({2}, std::vector<float>{1, 2}, stream());
  Tensor target = tensor_from_host<float>({2}, std::vector<float>{0, 0}, stream());
  const Graph graph(stream(), [&] {
    copy_bytes(target.raw(), device(), source.raw(), device(), 8, stream());
    zero_bytes(source.data<float>(), 4, stream());
  });
  EXPECT_EQ(to_host(target.view<float>(), stream()), (std::vector<float>{0, 0}));  // not run yet
  graph.launch();
  EXPECT_EQ(to_host(target.view<float>(), stream()), (std::vector<float>{1, 2}));
  graph.launch();
  EXPECT_EQ(to_host(target.view<float>(), stream()), (std::vector<float>{0, 2}));
}

TEST_P(StreamTest, AFailedCaptureLeavesTheStreamUsable) {
  if (device().is_cpu()) GTEST_SKIP() << "nothing is captured on the CPU";
  EXPECT_THROW(Graph(stream(), [] { throw Error(ErrorKind::usage, "on purpose"); }), Error);
  const Tensor tensor = tensor_from_host<float>({1}, std::vector<float>{5}, stream());
  EXPECT_EQ(to_host(tensor.view<float>(), stream()), (std::vector<float>{5}));
}

TEST_P(StreamTest, AHoldKeepsOtherThreadsBack) {
  std::atomic<bool> queued = false;
  std::thread other;
  {
    const Stream::Hold held = stream().hold();
    other = std::thread([&] {
      const Buffer buffer(16, stream());
      const Stream::Hold mine = stream().hold();
      zero_bytes(buffer.data(), 16, stream());
      queued = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(queued);
    const Stream::Hold again = stream().hold();  // the thread that holds is not kept back
    const Buffer buffer(16, stream());
    zero_bytes(buffer.data(), 16, stream());
  }
  other.join();
  EXPECT_TRUE(queued);
}

// Allocations, copies and waits of another thread, which would break a capture or become part of
// it.
TEST_P(StreamTest, ACaptureKeepsOtherThreadsBack) {
  Tensor captured = tensor_from_host<float>({1}, std::vector<float>{5}, stream());
  std::atomic<bool> ends = false;
  std::atomic<int> rounds = 0, wrong = 0;
  std::thread other([&] {
    for (float value = 0; !ends; ++value, ++rounds) {
      const Tensor tensor = tensor_from_host<float>({1}, std::vector<float>{value}, stream());
      if (to_host(tensor.view<float>(), stream()) != std::vector<float>{value}) ++wrong;
    }
  });
  for (int i = 0; i < 20 || rounds < 20; ++i) {
    const Graph graph(stream(), [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      zero_bytes(captured.data<float>(), 4, stream());
    });
    EXPECT_EQ(to_host(captured.view<float>(), stream()), (std::vector<float>{5}));
    graph.launch();
    EXPECT_EQ(to_host(captured.view<float>(), stream()), (std::vector<float>{0}));
    copy_from_host(captured.view<float>(), std::vector<float>{5}, stream());
  }
  ends = true;
  other.join();
  EXPECT_EQ(wrong, 0);
}

WEFT_ON_EACH_DEVICE(StreamTest);

}  // namespace
}  // namespace weft
