// SPDX-License-Identifier: MIT
// predict --rows N --columns M, with and without printed boxes, and what it refuses. The network is
// untrained: its answers do not matter here.
#include "data/picture/image.h"
#include "tests/cli/program.h"
#include "tests/cli/untrained_model.h"

namespace weft::test {
namespace {

class PredictForm : public ProgramTest {
 protected:
  static constexpr std::size_t kWidth = 500, kHeight = 300;

  void SetUp() override {
    ProgramTest::SetUp();
    write_untrained_model(folder() / "model.safetensors");
  }

  void fill(std::size_t left, std::size_t top, std::size_t width, std::size_t height,
            std::uint8_t value) {
    for (std::size_t y = top; y < top + height; ++y) {
      for (std::size_t x = left; x < left + width; ++x) pixels_[kWidth * y + x] = value;
    }
  }

  // Two rows of four boxes. All but the third of the second row have an upright bar, and the first
  // has two.
  void write_form(bool is_printed) {
    pixels_.assign(kWidth * kHeight, 235);
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t left = 30 + i % 4 * 110, top = 40 + i / 4 * 120;
      if (is_printed) {
        fill(left, top, 90, 2, 150);
        fill(left, top + 88, 90, 2, 150);
        fill(left, top, 2, 90, 150);
        fill(left + 88, top, 2, 90, 150);
      }
      if (i != 6) fill(left + 42, top + 20, 8, 50, 30);
      if (i == 0) fill(left + 62, top + 20, 8, 50, 30);
    }
    data::write_png(folder() / "form.png", pixels_, kWidth, kHeight, 1);
  }

  Outcome predict(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"predict", "model.safetensors", "form.png"});
    return weft(arguments);
  }

  std::vector<std::uint8_t> pixels_;
};

using Names = std::vector<std::string>;

TEST_F(PredictForm, CellsAreReadByPrintedBoxes) {
  write_form(true);
  const nlohmann::json form =
      json_lines(predict({"--rows", "2", "--columns", "4", "--json"}).out).at(0);
  EXPECT_EQ(form.at("event"), "predict_form");
  const nlohmann::json& cells = form.at("cells");
  ASSERT_EQ(cells.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    const nlohmann::json& cell = cells.at(i);
    EXPECT_EQ(cell.at("row"), i / 4 + 1);
    EXPECT_EQ(cell.at("column"), i % 4 + 1);
    EXPECT_EQ(cell.at("marks").size(), i == 0 ? 2u : i == 6 ? 0u : 1u) << i;
    EXPECT_EQ(cell.at("empty"), i == 6);
    EXPECT_EQ(cell.at("text").get<std::string>().size(), cell.at("marks").size());
    EXPECT_EQ(cell.at("unsure"), i != 6);  // each class has about a tenth
  }
  EXPECT_EQ(form.at("outside").size(), 0u);

  const std::string text = predict({"--rows", "2", "--columns", "4"}).out;
  const Names lines = lines_of(text);
  ASSERT_EQ(lines.size(), 5u) << text;
  EXPECT_EQ(lines[0], "form.png");
  const auto text_of = [&](std::size_t i) { return cells.at(i).at("text").get<std::string>(); };
  EXPECT_EQ(lines[1], "  " + text_of(0) + "?  " + text_of(1) + "?   " + text_of(2) + "?   " +
                          text_of(3) + "?");
  EXPECT_EQ(lines[2], "  " + text_of(4) + "?   " + text_of(5) + "?   -    " + text_of(7) + "?");
  EXPECT_EQ(lines[3], "  1 cell is empty: row 2, column 3");
  EXPECT_TRUE(lines[4].starts_with("  7 cells are unsure: row 1, column 1; row 1")) << lines[4];
  EXPECT_GT(lines_of(predict({"--rows", "2", "--columns", "4", "--show"}).out).size(), 30u);
}

TEST_F(PredictForm, ATableHasARowForEachCell) {
  write_form(true);
  const Outcome beside = predict({"--rows", "2", "--columns", "4", "--csv", "t.csv"});
  const Outcome alone = predict({"--rows", "2", "--columns", "4", "--csv", "-"});
  EXPECT_EQ(alone.out, read("t.csv"));
  EXPECT_NE(beside.out, "");
  const Names rows = lines_of(alone.out);
  ASSERT_EQ(rows.size(), 9u);
  EXPECT_EQ(rows[0], "file,row,column,text,probability,unsure,left_out,error");
  EXPECT_TRUE(rows[1].starts_with("form.png,1,1,")) << rows[1];
  EXPECT_EQ(rows[7], "form.png,2,3,,,no,0,");
  EXPECT_TRUE(rows[8].ends_with(",yes,0,")) << rows[8];
}

// The first cell has two marks, which would be two columns.
TEST_F(PredictForm, WithoutPrintedBoxesTheMarksAreTheGrid) {
  write_form(false);
  fill(92, 60, 8, 50, 235);
  data::write_png(folder() / "form.png", pixels_, kWidth, kHeight, 1);
  const nlohmann::json form =
      json_lines(predict({"--rows", "2", "--columns", "4", "--json"}).out).at(0);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(form.at("cells").at(i).at("empty"), i == 6) << i;
}

TEST_F(PredictForm, BoxesWithoutWritingAreEmpty) {
  write_form(true);
  for (std::size_t i = 0; i < 8; ++i) fill(40 + i % 4 * 110, 50 + i / 4 * 120, 70, 70, 235);
  for (const std::size_t dirt : {0, 4, 9}) {  // pixels a side, beside the boxes
    fill(10, 8, dirt, dirt, 40);
    data::write_png(folder() / "form.png", pixels_, kWidth, kHeight, 1);
    const Outcome outcome = predict({"--rows", "2", "--columns", "4", "--show"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(
        outcome.out.starts_with("form.png\n  -  -  -  -\n  -  -  -  -\n  8 cells are empty: "))
        << dirt << outcome.out;
    const Outcome json = predict({"--rows", "2", "--columns", "4", "--json"});
    EXPECT_TRUE(nlohmann::json::parse(json.out).at("inverted").get<bool>()) << json.out;
    if (dirt == 0) expect_error(predict({"--all"}), 3, "no mark of a digit's size");
  }
}

TEST_F(PredictForm, WhatIsNoSuchGridIsSaidInOneLine) {
  write_form(true);
  const Outcome outcome = predict({"--rows", "3", "--columns", "4", "--csv", "t.csv"});
  expect_error(outcome, 3,
               "form.png: the 8 printed boxes do not lie in 3 rows and 4 columns: there seem to be "
               "2 and 4");
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(lines_of(read("t.csv")).at(1).starts_with("form.png,,,,,,,")) << read("t.csv");
  expect_error(predict({"--rows", "3"}), 2, "--rows and --columns go together");
  expect_error(predict({"--columns", "3"}), 2, "--rows and --columns go together");
  expect_error(predict({"--rows", "2", "--columns", "4", "--all"}), 2, "not both");
  expect_error(predict({"--rows", "2", "--columns", "4", "--top-k", "2"}), 2, "--top-k");
  expect_error(predict({"--rows", "2", "--columns", "4", "--preprocess", "none"}), 2, "--rows");
  expect_error(predict({"--rows", "0", "--columns", "4"}), 2, "--rows");
}

}  // namespace
}  // namespace weft::test
