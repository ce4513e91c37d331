// SPDX-License-Identifier: MIT
// weft train --from: fine-tuning to other classes by one command.
#include <fstream>

#include "tests/cli/program.h"

namespace weft::test {
namespace {

class TrainFrom : public ProgramTest {
 protected:
  // Strokes of three directions at other places and widths: classes that no digit is.
  void write_strokes(const char* name, int count) {
    std::ofstream file(folder() / name);
    file << "label";
    for (int pixel = 0; pixel < 28 * 28; ++pixel) file << ",p" << pixel;
    file << "\n";
    constexpr const char* kNames[] = {"across", "down", "slanted"};
    for (int image = 0; image < count; ++image) {
      const int kind = image % 3, at = 8 + image * 7 % 12, width = 1 + image % 2;
      file << kNames[kind];
      for (int i = 0; i < 28; ++i) {
        for (int j = 0; j < 28; ++j) {
          const bool inside = i > 3 && i < 24 && j > 3 && j < 24;
          const int line = kind == 0 ? i - at : kind == 1 ? j - at : i + j - 14 - at;
          const bool speck = (i * 31 + j * 17 + image * 13) % 97 == image % 89;  // all differ
          file << (inside && line >= -width && line <= width ? ",255" : speck ? ",90" : ",0");
        }
      }
      file << "\n";
    }
  }
};

TEST_F(TrainFrom, ThreeNewClassesBehindFrozenConvolutions) {
  ASSERT_EQ(train_small("digits").exit_code, 0);
  write_strokes("strokes.csv", 600);
  const Outcome outcome = weft({"train", "--from", "digits", "--freeze", "conv*", "--data",
                                "strokes.csv", "--device", "cpu", "--out", "strokes", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("begins from digits: 8 of 10 tensors are taken over"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("new: fc3.weight (3, 84), fc3.bias (3,)"), std::string::npos);
  const auto lines = json_lines(outcome.out);
  EXPECT_GE(lines.back().at("test_accuracy").get<double>(), 0.99) << outcome.out;
  const Outcome again = weft({"train", "--from", "digits", "--freeze", "conv3", "--data",
                              "strokes.csv", "--device", "cpu", "--out", "no"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.err.find("no layer with parameters is named \"conv3\""), std::string::npos);
  EXPECT_FALSE(fs::exists(folder() / "no"));
}

}  // namespace
}  // namespace weft::test
