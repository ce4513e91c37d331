// SPDX-License-Identifier: MIT
#include "engine/device.h"

#include <gtest/gtest.h>

#include "engine/cuda/driver.h"
#include "engine/error.h"

namespace weft {
namespace {

Error error_of(std::string_view text) {
  try {
    const Device device = parse_device(text);
    return Error(ErrorKind::check_failed, str("parsed as ", device));
  } catch (const Error& error) {
    return error;
  }
}

TEST(Device, ParsesAndPrints) {
  EXPECT_EQ(parse_device("cpu"), Device::cpu());
  EXPECT_EQ(to_string(Device::cpu()), "cpu");
  EXPECT_EQ(to_string(Device::cuda(3)), "cuda:3");
  EXPECT_EQ(str(Device::cuda(1)), "cuda:1");
  EXPECT_NE(Device::cuda(0), Device::cuda(1));
  EXPECT_NE(Device::cuda(0), Device::cpu());
}

TEST(Device, AutoTakesTheFirstGpuOrTheCpu) {
  const bool gpu = cuda_status().device_count > 0;
  EXPECT_EQ(parse_device("auto"), gpu ? Device::cuda(0) : Device::cpu());
}

TEST(Device, RefusesOtherText) {
  for (const char* text : {"", "gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "cuda0",
                           "cuda:99999999999999999999"}) {
    const Error error = error_of(text);
    EXPECT_EQ(error.kind(), ErrorKind::usage) << text << ": " << error.what();
    EXPECT_NE(std::string(error.what()).find("expected auto, cpu, cuda"), std::string::npos);
  }
}

TEST(Device, AGpuThatIsNotThereIsADeviceError) {
  EXPECT_EQ(error_of("cuda:4242").kind(), ErrorKind::device);
  if (cuda_status().device_count > 0) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_FALSE(cuda_status().reason.empty());
  const Error error = error_of("cuda");
  EXPECT_EQ(error.kind(), ErrorKind::device);
  EXPECT_NE(std::string(error.what()).find(cuda_status().reason), std::string::npos);
}

TEST(Device, ADriverOlderThanTheRuntimeIsNamedWithBothVersions) {
  EXPECT_EQ(detail::old_driver(0, 13020), "no NVIDIA driver found");
  EXPECT_EQ(detail::old_driver(12040, 13020),
            "the NVIDIA driver supports CUDA 12.4, this program needs 13.2");
  EXPECT_EQ(detail::old_driver(11080, 12010),
            "the NVIDIA driver supports CUDA 11.8, this program needs 12.1");
}

TEST(Device, PropertiesOfTheCpu) {
  const DeviceProperties& cpu = device_properties(Device::cpu());
  EXPECT_FALSE(cpu.name.empty());
  EXPECT_GE(cpu.multiprocessors, 1);
  EXPECT_EQ(cpu.compute_capability, 0);
}

TEST(Device, PropertiesOfTheGpu) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
  const DeviceProperties& gpu = device_properties(Device::cuda());
  EXPECT_FALSE(gpu.name.empty());
  EXPECT_GE(gpu.compute_capability, 75);
  EXPECT_GE(gpu.multiprocessors, 1);
  EXPECT_GT(gpu.memory_bytes, 0u);
  EXPECT_GT(gpu.shared_bytes_per_block, 0u);
  EXPECT_THROW(static_cast<void>(device_properties(Device::cuda(4242))), Error);
}

TEST(Device, BuildIsConsistent) {
  EXPECT_EQ(built_with_cuda(), !built_cuda_architectures().empty());
  if (!built_with_cuda()) {
    EXPECT_EQ(cuda_status().device_count, 0);
  }
}

TEST(Error, CarriesKindMessageAndPlace) {
  const Error error(ErrorKind::data, str("expected ", 3, ", found ", "four"));
  EXPECT_STREQ(error.what(), "expected 3, found four");
  EXPECT_EQ(error.kind(), ErrorKind::data);
  EXPECT_EQ(error.exit_code(), 3);
  EXPECT_NE(std::string(error.where().file).find("test_device.cpp"), std::string::npos);
  EXPECT_EQ(Error(ErrorKind::check_failed, "").exit_code(), 1);
  EXPECT_EQ(Error(ErrorKind::usage, "").exit_code(), 2);
  EXPECT_EQ(Error(ErrorKind::device, "").exit_code(), 4);
}

}  // namespace
}  // namespace weft
