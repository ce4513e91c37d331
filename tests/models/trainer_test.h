// SPDX-License-Identifier: MIT
// The fixture of the trainer's tests, and what compares two runs.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "models/training/runs/checkpoint.h"
#include "models/training/trainer.h"
#include "tests/models/blocks.h"
#include "tests/support/device_test.h"
#include "tests/support/folder.h"

namespace weft::models::trainer_tests {

using test::read_text;
using test::TemporaryFolder;
using test::throws;

inline const std::atomic<bool> kNeverStop = false;

class TrainerTest : public test::DeviceTest {
 protected:
  TrainerTest() {
    config_.network.name = "mlp";
    config_.dataset = dataset_.name;
    config_.epochs = 4;
    config_.batch_size = 32;
    config_.schedule.peak = 0.05f;
    config_.augmentation.shift = 1;
  }

  Trainer start(const std::filesystem::path& run_dir) {
    return Trainer(config_, dataset_, run_dir, stream());
  }
  Trainer resumed(const std::filesystem::path& run_dir, std::optional<int> epochs = {}) {
    return Trainer::resume(run_dir, dataset_, epochs, stream());
  }

  data::Dataset dataset_ = test::block_dataset(330, 100);  // 10 full batches and a tail of 10
  TrainConfig config_;
};

inline void expect_same_metrics(const Metrics& a, const Metrics& b) {
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(a.accuracy, b.accuracy);
  EXPECT_EQ(a.images, b.images);
}

// All but the seconds, bit for bit.
inline void expect_same_run(const Trainer& a, const Trainer& b) {
  EXPECT_TRUE(a.model().parameters == b.model().parameters) << "weights differ";
  EXPECT_EQ(a.model().buffers, b.model().buffers);
  ASSERT_EQ(a.history().size(), b.history().size());
  for (std::size_t i = 0; i < a.history().size(); ++i) {
    expect_same_metrics(a.history()[i].train, b.history()[i].train);
    expect_same_metrics(a.history()[i].test, b.history()[i].test);
    EXPECT_EQ(a.history()[i].lr, b.history()[i].lr);
    EXPECT_EQ(a.history()[i].calibration.temperature, b.history()[i].calibration.temperature);
    EXPECT_EQ(a.history()[i].calibration.threshold, b.history()[i].calibration.threshold);
    ASSERT_EQ(a.history()[i].validation.has_value(), b.history()[i].validation.has_value());
    if (a.history()[i].validation) {
      expect_same_metrics(*a.history()[i].validation, *b.history()[i].validation);
    }
  }
}

inline void expect_same_tensors(const std::filesystem::path& a, const std::filesystem::path& b) {
  const SafeTensors x = read_safetensors(a), y = read_safetensors(b);
  ASSERT_EQ(x.tensors.size(), y.tensors.size());
  for (const NamedTensor& tensor : x.tensors) {
    const NamedTensor* other = y.find(tensor.name);
    ASSERT_NE(other, nullptr) << tensor.name;
    EXPECT_TRUE(tensor.values == other->values) << tensor.name;
  }
}

inline nlohmann::json run_state(const std::filesystem::path& run_dir) {
  return nlohmann::json::parse(
      read_safetensors(run_dir / "optimizer.safetensors").metadata.at("weft_run"));
}

}  // namespace weft::models::trainer_tests
