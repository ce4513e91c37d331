// SPDX-License-Identifier: MIT
// DeviceTest: a fixture whose tests run once on the CPU and once on the first GPU. Where there is
// no usable GPU the CUDA instance is reported as skipped, with the reason. In a test program linked
// for host-cuda they run there only.
//
//   class Relu : public DeviceTest {};
//   TEST_P(Relu, KeepsPositives) { ... stream() ... }
//   WEFT_ON_EACH_DEVICE(Relu);
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/device.h"
#include "engine/stream.h"

namespace weft {

inline void PrintTo(Device::Type type, std::ostream* out) {
  *out << (type == Device::Type::cpu ? "cpu" : "cuda");
}

}  // namespace weft

namespace weft::test {

// How GoogleTest names the parameter.
inline std::string device_label(const testing::TestParamInfo<Device::Type>& info) {
  if (info.param == Device::Type::cpu) return "cpu";
  return built_for_host_cuda() ? "host_cuda" : "cuda";
}

inline std::vector<Device::Type> device_types() {
  if (built_for_host_cuda()) return {Device::Type::cuda};
  return {Device::Type::cpu, Device::Type::cuda};
}

class DeviceTest : public testing::TestWithParam<Device::Type> {
 protected:
  void SetUp() override {
    if (GetParam() == Device::Type::cuda && cuda_status().device_count == 0) {
      GTEST_SKIP() << "no GPU: " << cuda_status().reason;
    }
    stream_ = std::make_unique<Stream>(device());
  }

  Device device() const {
    return GetParam() == Device::Type::cuda ? Device::cuda() : Device::cpu();
  }
  const Stream& stream() const { return *stream_; }

 private:
  std::unique_ptr<Stream> stream_;
};

#define WEFT_ON_EACH_DEVICE(Fixture)                                                   \
  INSTANTIATE_TEST_SUITE_P(On, Fixture, testing::ValuesIn(weft::test::device_types()), \
                           weft::test::device_label)

}  // namespace weft::test
