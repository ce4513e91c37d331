// SPDX-License-Identifier: MIT
// Mistakes with global memory are caught with their lines, under every schedule; what is ordered by
// fences, flags, locks and barriers of the grid is not.
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/tensor.h"
#include "host_cuda/host_cuda.h"
#include "tests/host_cuda/broken_global.h"

namespace weft::test {
namespace {

constexpr int kElements = kGlobalBlocks * kGlobalThreads;

std::string message_of(const std::string& kernel) {
  const Stream stream(Device::cuda());
  std::vector<std::int32_t> values(kElements);
  std::iota(values.begin(), values.end(), 0);
  values.push_back(0);
  Tensor x = tensor_from_host<std::int32_t>({kElements + 1}, values, stream);
  Tensor y({kElements}, DType::i32, stream);
  try {
    run_global(kernel, x.data<std::int32_t>(), y.data<std::int32_t>(), values.data(), stream);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::check_failed);
    return error.what();
  }
  return "nothing was found";
}

// "broken_global.cu:31", the first line from that of `kernel` on with this text.
std::string line_of(const std::string& kernel, const std::string& text) {
  std::ifstream source(WEFT_SOURCE_DIR "/tests/host_cuda/broken_global.cu");
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    inside = inside || line.find(" void " + kernel + "(") != std::string::npos;
    if (inside && line.find(text) != std::string::npos) {
      return str("tests/host_cuda/broken_global.cu:", number);
    }
  }
  return "no such line";
}

class GlobalMemory : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "a check of the ordinary build";
#endif
    host_cuda::set_schedules(GetParam());
  }
  void TearDown() override {
    host_cuda::set_schedules(1);
  }

  static void expect_caught(const std::string& kernel, const std::vector<std::string>& parts) {
    const std::string message = message_of(kernel);
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << "no '" << part << "' in: " << message;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Schedules, GlobalMemory, testing::Values(1, 4));

TEST_P(GlobalMemory, RaceOfPlainCounts) {
  const std::string kernel = "plain_counts", line = line_of(kernel, "+= 1");
  expect_caught(kernel, {"race: kernel plain_counts, block (0, 0, 0), thread (16, 0, 0), after 0 "
                         "barriers reads byte 0 of a device allocation of 1028 bytes at " +
                             line,
                         "; thread (0, 0, 0) writes it at " + line + ", with no barrier between"});
}

TEST_P(GlobalMemory, RaceWithinABlock) {
  const std::string kernel = "neighbour_in_place";
  expect_caught(kernel, {"race: kernel " + kernel, line_of(kernel, "next = x"),
                         line_of(kernel, "= next"), "with no barrier between"});
}

TEST_P(GlobalMemory, RaceOfAPlainReadBesideAtomics) {
  const std::string kernel = "plain_beside_atomic";
  expect_caught(kernel, {"race: kernel " + kernel, "atomically updates",
                         line_of(kernel, "atomicAdd"), line_of(kernel, "x[1] = x[0]")});
}

TEST_P(GlobalMemory, RaceInADeviceVariable) {
  const std::string kernel = "device_variable", line = line_of(kernel, "+=");
  expect_caught(kernel,
                {"race: kernel " + kernel, "byte 0 of __device__ total of 4 bytes at " + line,
                 "writes it at " + line});
}

TEST_P(GlobalMemory, PastADeviceVariable) {
  const std::string kernel = "past_a_device_array";
  expect_caught(kernel,
                {"out of bounds: kernel " + kernel,
                 "byte 0 past the end of __device__ totals of 16 bytes", line_of(kernel, "= 1;")});
}

TEST_P(GlobalMemory, RaceOfTheLastBlockWithoutAFence) {
  const std::string kernel = "last_block_without_fence";
  expect_caught(
      kernel, {"race: kernel " + kernel, line_of("last_block", "sum += y"),
               line_of("last_block", "y[global_index()] = "), "and nothing orders the two blocks"});
}

TEST_P(GlobalMemory, RaceOfTheLastBlockWithoutABarrier) {
  const std::string kernel = "last_block_without_barrier";
  expect_caught(kernel, {"race: kernel " + kernel, line_of("last_block", "sum += y"),
                         line_of("last_block", "y[global_index()] = ")});
}

TEST_P(GlobalMemory, RaceUnderALockWithoutAFence) {
  const std::string kernel = "lock_without_fence", line = line_of(kernel, "y[0] =");
  expect_caught(kernel, {"race: kernel " + kernel, "writes byte 0 of a device allocation",
                         "nothing orders the two blocks", line});
}

TEST_P(GlobalMemory, RaceWithoutABarrierOfTheGrid) {
  const std::string kernel = "no_grid_barrier";
  expect_caught(kernel, {": kernel " + kernel, line_of(kernel, "= y[")});
}

TEST_P(GlobalMemory, ReadsWhatNobodyWrote) {
  const std::string kernel = "reads_what_nobody_wrote";
  expect_caught(kernel, {"uninitialised read: kernel " + kernel, "block (0, 0, 0)",
                         "of a device allocation of 1024 bytes at " + line_of(kernel, "+= y"),
                         "which nobody has written"});
}

TEST_P(GlobalMemory, WritesAConstant) {
  const std::string kernel = "writes_a_constant";
  expect_caught(kernel,
                {"constant memory: kernel " + kernel, "writes 4 bytes at byte ",
                 "of __constant__ constants, which has 32, at " + line_of(kernel, "constants[")});
}

TEST_P(GlobalMemory, PastTheConstants) {
  const std::string kernel = "past_the_constants";
  expect_caught(kernel, {"out of bounds: kernel " + kernel,
                         "reads 4 bytes at byte 32 of __constant__ constants, which has 32, at " +
                             line_of(kernel, "place[8")});
}

TEST_P(GlobalMemory, MisalignedVector) {
  const std::string kernel = "misaligned_vector";
  expect_caught(kernel, {"misaligned: kernel " + kernel, "reads 16 bytes, 4 bytes past",
                         line_of(kernel, "x + 1")});
}

TEST_P(GlobalMemory, NullPointer) {
  const std::string kernel = "null_pointer";
  expect_caught(kernel,
                {"null pointer: kernel " + kernel, "writes 4 bytes", line_of(kernel, "= 0;")});
}

TEST_P(GlobalMemory, HostPointer) {
  const std::string kernel = "host_pointer";
  expect_caught(kernel, {"host pointer: kernel " + kernel,
                         "reads 4 bytes at an address of host "
                         "memory, at " +
                             line_of(kernel, "= host")});
}

TEST_P(GlobalMemory, NothingIsFoundWhereAccessesAreOrdered) {
  for (const std::string kernel : {"device_array", "last_block_done", "volatile_flag",
                                   "lock_with_fence", "grid_barrier", "compare_and_swap"}) {
    EXPECT_EQ(message_of(kernel), "nothing was found") << kernel;
  }
}

}  // namespace
}  // namespace weft::test
