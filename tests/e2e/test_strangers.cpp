// SPDX-License-Identifier: MIT
// What a network that was trained with pictures of no class is sure of: digits, and hardly ever
// pictures without one. A short run of the recipe, so that it takes seconds; $WEFT_PHOTOGRAPHS_RUN
// is another run.
#include <gtest/gtest.h>

#include "data/ink/preprocess.h"
#include "data/sets/mnist.h"
#include "engine/error.h"
#include "models/answers/classifier.h"
#include "tests/cli/program.h"
#include "tests/support/non_digits.h"

namespace weft::test {
namespace {

class Strangers : public ProgramTest {
 protected:
  void SetUp() override {
    const char* files = std::getenv("WEFT_DATA_DIR");
    if (files == nullptr) GTEST_SKIP() << "WEFT_DATA_DIR does not name a folder with MNIST";
    ProgramTest::SetUp();
    environment_["WEFT_DATA_DIR"] = fs::absolute(files).string();
  }
};

TEST_F(Strangers, AreHardlyEverAnsweredWithCertainty) {
  fs::path run = folder() / "run";
  if (const char* const trained = std::getenv("WEFT_PHOTOGRAPHS_RUN")) {
    run = trained;
  } else {
    const Outcome outcome =
        weft({"train", "--device", "cpu", "--recipe", "photographs", "--epochs", "2",
              "--limit-train", "80000", "--progress", "off", "--out", "run"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  const models::Model model = models::load_model(run);
  ASSERT_TRUE(model.info.calibration.certainty.has_value());
  models::Classifier classifier(model, Stream(Device::cpu()));

  constexpr std::uint64_t kOfEach = 10, kStrangerSeed = 20'261'129;  // not that of training
  int certain = 0, drawn = 0;
  for (const data::SignKind& kind : data::sign_kinds()) {
    for (std::uint64_t i = 0; i < kOfEach; ++i, ++drawn) {
      const auto index = static_cast<std::uint64_t>(drawn);
      try {
        const data::PreparedImage prepared =
            data::prepare_image(sign_on_sheet(kind, kStrangerSeed, index), data::Preprocess::mnist,
                                data::Invert::automatic, kind.name);
        certain += classifier.classify(prepared.pixels).unsure ? 0 : 1;
      } catch (const Error&) {  // no ink is found: no answer
      }
    }
  }
  RecordProperty("certain", certain);
  std::printf("certain of %d of %d pictures without a digit\n", certain, drawn);
  EXPECT_LE(100 * certain, 15 * drawn);

  const data::Dataset mnist = data::load_dataset("mnist", {});
  constexpr std::int64_t kDigits = 1000;
  int unsure = 0;
  for (std::int64_t i = 0; i < kDigits; ++i) {
    unsure += classifier.classify(mnist.test.image(i)).unsure ? 1 : 0;
  }
  RecordProperty("unsure", unsure);
  std::printf("unsure of %d of %d digits\n", unsure, static_cast<int>(kDigits));
  EXPECT_LE(unsure, kDigits / 20);
  EXPECT_GT(unsure, 0);
}

}  // namespace
}  // namespace weft::test
