// SPDX-License-Identifier: MIT
#include "engine/reach.h"

#include <gtest/gtest.h>

#include "engine/stream.h"
#include "tests/support/device_test.h"

namespace weft::test {
namespace {

int asked = 0;

const void* address(std::uintptr_t value) {
  return reinterpret_cast<const void*>(value);  // NOLINT(performance-no-int-to-ptr)
}

// Memory of a GPU from 1 GiB to 2 GiB, locked memory up to 3 GiB, then what is none.
Residence ask(const void* pointer) {
  ++asked;
  const auto gibibytes = reinterpret_cast<std::uintptr_t>(pointer) >> 30;
  return gibibytes == 1   ? Residence::device
         : gibibytes == 2 ? Residence::mapped
                          : Residence::pageable;
}

constexpr std::uintptr_t kGibibyte = std::uintptr_t{1} << 30;

TEST(ReachCache, RemembersMemoryOfAGpu) {
  ReachCache cache(ask);
  asked = 0;
  for (int call = 0; call < 5; ++call) {
    EXPECT_TRUE(cache.reaches(address(kGibibyte + 4096)));
    EXPECT_TRUE(cache.reaches(address(kGibibyte + 8)));  // in the same 64 KiB
  }
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(cache.reaches(address(kGibibyte + 65536)));
  EXPECT_EQ(asked, 2);
}

TEST(ReachCache, AsksAgainForOtherMemory) {
  ReachCache cache(ask);
  asked = 0;
  for (int call = 1; call <= 3; ++call) {
    EXPECT_TRUE(cache.reaches(address(2 * kGibibyte)));
    EXPECT_FALSE(cache.reaches(address(3 * kGibibyte)));
    EXPECT_FALSE(cache.reaches(address(64)));
    EXPECT_EQ(asked, 3 * call);
  }
}

// Every answer is right however many pieces of memory share a place in the cache.
TEST(ReachCache, PiecesThatShareAPlaceAreToldApart) {
  ReachCache cache(ask);
  for (int round = 0; round < 2; ++round) {
    for (std::uintptr_t at = 0; at < 4 * kGibibyte; at += 65536 * 7) {
      const bool reached = at >= kGibibyte && at < 3 * kGibibyte;
      EXPECT_EQ(cache.reaches(address(at)), reached) << at;
    }
  }
}

class ReachTest : public DeviceTest {};

TEST_P(ReachTest, KernelsReachWhatABufferHolds) {
  const Buffer buffer(1 << 20, stream());
  const auto* first = static_cast<const char*>(buffer.data());
  EXPECT_TRUE(reaches(device(), first));
  EXPECT_TRUE(reaches(device(), first + (1 << 20) - 1));
  const PinnedBuffer pinned(64, device());
  EXPECT_TRUE(reaches(device(), pinned.data()));
}
WEFT_ON_EACH_DEVICE(ReachTest);

TEST(Reach, ACpuReachesAnyMemoryOfTheHost) {
  const int here = 0;
  EXPECT_TRUE(reaches(Device::cpu(), &here));
}

}  // namespace
}  // namespace weft::test
