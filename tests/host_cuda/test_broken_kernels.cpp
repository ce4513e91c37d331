// SPDX-License-Identifier: MIT
// Each broken kernel is caught, and the message tells what, where and in which line.
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/tensor.h"
#include "host_cuda/host_cuda.h"
#include "tests/host_cuda/broken_kernels.h"

namespace weft::test {
namespace {

std::string message_of(Broken which) {
  const Stream stream(Device::cuda());
  std::vector<std::int32_t> values(kBrokenElements);
  std::iota(values.begin(), values.end(), 1);
  Tensor x = tensor_from_host<std::int32_t>({kBrokenElements}, values, stream);
  try {
    run_broken(which, x.data<std::int32_t>(), stream);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::check_failed);
    return error.what();
  }
  return "nothing was found";
}

// The number of the first line of broken_kernels.cu, from that of `kernel` on, with this text.
std::string line_of(const std::string& kernel, const std::string& text) {
  std::ifstream source(WEFT_SOURCE_DIR "/tests/host_cuda/broken_kernels.cu");
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    inside = inside || line.find("__global__ void " + kernel + "(") != std::string::npos;
    if (inside && line.find(text) != std::string::npos) {
      return str("tests/host_cuda/broken_kernels.cu:", number);
    }
  }
  return "no such line";
}

// In a build with AddressSanitizer it takes the place of the layer's own checks of memory.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

void expect_caught(Broken which, const std::vector<std::string>& parts) {
  const std::string message = message_of(which);
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "no '" << part << "' in: " << message;
  }
}

TEST(BrokenMemory, RaceOfKoggeStoneWithOneBarrier) {
  if (kSanitized) GTEST_SKIP() << "a check of the ordinary build";
  const std::string kernel = "kogge_stone_one_barrier";
  expect_caught(Broken::kogge_stone_one_barrier,
                {"race: kernel " + kernel, "block (0, 0, 0)", "after 1 barrier ", "shared values",
                 line_of(kernel, "const int below"), line_of(kernel, "values[i] += below"),
                 "with no barrier between"});
}

TEST(BrokenMemory, OnePastAStaticArray) {
  if (kSanitized) GTEST_SKIP() << "a check of the ordinary build";
  const std::string kernel = "one_past_a_static_array";
  expect_caught(Broken::one_past_a_static_array,
                {"out of bounds: kernel " + kernel, "thread (63, 0, 0)", "after 0 barriers",
                 "index 64", "int [64]", line_of(kernel, "values[i + 1] = x[i]")});
}

TEST(BrokenMemory, OnePastAStaticArrayByPointer) {
  if (kSanitized) GTEST_SKIP() << "a check of the ordinary build";
  expect_caught(Broken::one_past_a_static_array_by_pointer,
                {"out of bounds: kernel one_past_a_static_array_by_pointer", "thread (63, 0, 0)",
                 "writes 4 bytes at byte 256 of shared values, which has 256",
                 "tests/host_cuda/broken_kernels.cu:"});
}

TEST(BrokenMemory, OnePastDynamicMemory) {
  if (kSanitized) GTEST_SKIP() << "a check of the ordinary build";
  const std::string kernel = "one_past_dynamic_memory";
  expect_caught(Broken::one_past_dynamic_memory,
                {"out of bounds: kernel " + kernel, "thread (63, 0, 0)",
                 "writes 4 bytes at byte 256 of dynamic shared memory, which has 256",
                 line_of(kernel, "values[i + 1] = x[i]")});
}

TEST(BrokenMemory, OnePastAnAllocation) {
  if (kSanitized) GTEST_SKIP() << "a check of the ordinary build";
  const std::string kernel = "one_past_an_allocation";
  expect_caught(Broken::one_past_an_allocation,
                {"out of bounds: kernel " + kernel, "thread (63, 0, 0)",
                 "writes 4 bytes at byte 0 past the end of a device allocation of 256 bytes",
                 line_of(kernel, "= 0;")});
}

TEST(BrokenMemory, OneBeforeAnAllocation) {
  if (kSanitized) GTEST_SKIP() << "a check of the ordinary build";
  const std::string kernel = "one_before_an_allocation";
  expect_caught(Broken::one_before_an_allocation,
                {"out of bounds: kernel " + kernel, "thread (0, 0, 0)", "reads 4 bytes at ",
                 line_of(kernel, "- 1]")});
}

// A barrier waits for the threads that have not exited; a note says so once.
TEST(BrokenKernels, ReturnAboveABarrier) {
  const std::string kernel = "return_above_a_barrier";
  testing::internal::CaptureStderr();
  const std::string message = message_of(Broken::return_above_a_barrier);
  const std::string note = testing::internal::GetCapturedStderr();
  EXPECT_EQ(message, "nothing was found");
  for (const std::string& part :
       {"weft: note: host-cuda: barrier without all threads: kernel " + kernel,
        line_of(kernel, "__syncthreads"), std::string("thread (50, 0, 0) has returned")}) {
    EXPECT_NE(note.find(part), std::string::npos) << "no '" << part << "' in: " << note;
  }
}

TEST(BrokenKernels, BarrierInABranch) {
  const std::string kernel = "barrier_in_a_branch";
  expect_caught(Broken::barrier_in_a_branch,
                {"divergent barrier: kernel " + kernel, line_of(kernel, "__syncthreads"),
                 "thread (40, 0, 0)"});
}

TEST(BrokenKernels, LaneMissingInAShuffle) {
  const std::string kernel = "lane_missing_in_a_shuffle";
  expect_caught(Broken::lane_missing_in_a_shuffle,
                {"missing lane: kernel " + kernel, "__shfl_down_sync", "reads lane 16",
                 "thread (16, 0, 0) has returned", line_of(kernel, "__shfl_down_sync")});
}

TEST(BrokenKernels, ShuffleFromOutsideOfTheMask) {
  expect_caught(Broken::shuffle_from_outside_of_the_mask,
                {"wrong mask: kernel shuffle_from_outside_of_the_mask", "thread (8, 0, 0)",
                 "reads lane 16, which its mask does not name"});
}

TEST(BrokenMemory, ReadsWhatNobodyWrote) {
  if (kSanitized) GTEST_SKIP() << "a check of the ordinary build";
  const std::string kernel = "reads_what_nobody_wrote";
  expect_caught(Broken::reads_what_nobody_wrote,
                {"uninitialised read: kernel " + kernel, "thread (63, 0, 0)", "after 1 barrier",
                 "shared values at byte 256", line_of(kernel, "threadIdx.x + 1]")});
}

TEST(BrokenMemory, ReadsAVectorHalfWritten) {
  if (kSanitized) GTEST_SKIP() << "a check of the ordinary build";
  const std::string kernel = "reads_a_vector_half_written";
  expect_caught(Broken::reads_a_vector_half_written,
                {"uninitialised read: kernel " + kernel, "after 1 barrier",
                 line_of(kernel, "const int2 pair")});
}

TEST(BrokenMemory, PaddingOfAStructMayBeCopied) {
  EXPECT_EQ(message_of(Broken::copies_padding), "nothing was found");
}

TEST(BrokenMemory, WarpWithoutSyncwarp) {
  if (kSanitized) GTEST_SKIP() << "a check of the ordinary build";
  const std::string kernel = "warp_without_syncwarp";
  expect_caught(Broken::warp_without_syncwarp,
                {"race: kernel " + kernel, "after 1 barrier ", line_of(kernel, "place[i + 16]")});
}

TEST(BrokenMemory, WarpsOutOfStep) {
  if (kSanitized) GTEST_SKIP() << "a check of the ordinary build";
  const std::string kernel = "warps_out_of_step";
  expect_caught(Broken::warps_out_of_step,
                {": kernel " + kernel, "shared sums", line_of(kernel, "sums[0] + sums[1]")});
}

// In a child process: a sanitizer prints its report and stops the program. Below stands the thread.
void expect_report(Broken which, const std::string& report, const std::string& kernel) {
  EXPECT_DEATH(message_of(which), report + ".*host-cuda: kernel " + kernel +
                                      ", block .0, 0, 0., thread .63, 0, 0., after 0 barriers");
}

TEST(BrokenMemoryDeathTest, AddressSanitizerNamesTheThread) {
  if (!kSanitized) GTEST_SKIP() << "needs a build with the sanitizers";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string report = "AddressSanitizer: heap-buffer-overflow";
  expect_report(Broken::one_past_dynamic_memory, report, "one_past_dynamic_memory");
  expect_report(Broken::one_past_an_allocation, report, "one_past_an_allocation");
  expect_report(Broken::one_past_a_static_array_by_pointer,
                "AddressSanitizer: global-buffer-overflow", "one_past_a_static_array_by_pointer");
}

TEST(BrokenMemoryDeathTest, UndefinedBehaviorSanitizerNamesTheThread) {
  if (!kSanitized) GTEST_SKIP() << "needs a build with the sanitizers";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  expect_report(Broken::one_past_a_static_array,
                "broken_kernels.cu:.*runtime error: .*index 64 out of bounds",
                "one_past_a_static_array");
}

TEST(BrokenKernels, ADeadlockIsAMessage) {
  expect_caught(Broken::waits_for_ever,
                {"deadlock: kernel waits_for_ever", "thread (0, 0, 0)", "runs on without end"});
}

TEST(BrokenKernels, ResultsThatDependOnTheOrderOfBlocks) {
  if (kSanitized) GTEST_SKIP() << "memory is compared in the ordinary build";
  host_cuda::set_schedules(4);
  expect_caught(Broken::order_of_blocks, {"kernel order_of_blocks", "another order", "byte ",
                                          "of a device allocation of 256"});
  host_cuda::set_schedules(1);
}

}  // namespace
}  // namespace weft::test
