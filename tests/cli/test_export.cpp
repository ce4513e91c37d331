// SPDX-License-Identifier: MIT
// weft export and weft import: where files go, and what is refused.
#include "tests/cli/program.h"
#include "tests/cli/untrained_model.h"

namespace weft::test {
namespace {

class Export : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    fs::create_directory(folder() / "run");
    write_untrained_model(folder() / "run/model.safetensors");
    // A build without ONNX is told by what it says.
    knows_onnx_ = weft({"export", "run", "--format", "onnx", "--out", "probe.onnx"}).exit_code == 0;
    fs::remove(folder() / "probe.onnx");
  }
  bool knows_onnx_ = false;
};

TEST_F(Export, WritesNextToTheModelOrWhereToldTo) {
  const Outcome npz = weft({"export", "run", "--format", "npz"});
  EXPECT_EQ(npz.exit_code, 0) << npz.err;
  EXPECT_TRUE(npz.out.starts_with("run/model.npz has lenet5")) << npz.out;
  EXPECT_EQ(read("run/model.npz").substr(0, 2), "PK");
  const Outcome json =
      weft({"export", "run/model.safetensors", "--format", "npz", "--out", "m.npz", "--json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  const nlohmann::json event = json_lines(json.out).at(0);
  EXPECT_EQ(event.at("file"), "m.npz");
  EXPECT_EQ(event.at("bytes"), fs::file_size(folder() / "m.npz"));
  EXPECT_EQ(read("m.npz"), read("run/model.npz"));
}

TEST_F(Export, SafetensorsIsACopy) {
  expect_error(weft({"export", "run", "--format", "safetensors"}), 2, "--out");
  EXPECT_EQ(weft({"export", "run", "--format", "safetensors", "--out", "c.safetensors"}).exit_code,
            0);
  EXPECT_EQ(read("c.safetensors"), read("run/model.safetensors"));
}

TEST_F(Export, RefusesInOneLine) {
  expect_error(weft({"export", "run"}), 2, "--format");
  expect_error(weft({"export", "run", "--format", "onyx"}), 2, "onnx");
  expect_error(weft({"export", "gone", "--format", "npz", "--out", "m.npz"}), 3, "gone");
  expect_error(weft({"export", "run", "--format", "npz", "--out", "gone/m.npz"}), 3, "gone");
  EXPECT_FALSE(fs::exists(folder() / "m.npz"));
}

TEST_F(Export, AFullDiskLeavesNothing) {
  file_size_limit_ = 10'000;
  expect_error(weft({"export", "run", "--format", "npz", "--out", "m.npz"}), 3, "m.npz");
  if (knows_onnx_) {
    expect_error(weft({"export", "run", "--format", "onnx", "--out", "m.onnx"}), 3, "m.onnx");
  }
  file_size_limit_ = 0;
  for (const auto& entry : fs::directory_iterator(folder())) {
    EXPECT_EQ(entry.path().filename().string().find("m."), std::string::npos) << entry.path();
  }
}

TEST_F(Export, OnnxComesBack) {
  if (!knows_onnx_) {
    expect_error(weft({"export", "run", "--format", "onnx"}), 2, "libonnx-dev");
    expect_error(weft({"import", "m.onnx", "--out", "back"}), 2, "libonnx-dev");
    GTEST_SKIP() << "built without ONNX";
  }
  ASSERT_EQ(weft({"export", "run", "--format", "onnx"}).exit_code, 0);
  const Outcome imported = weft({"import", "run/model.onnx", "--out", "back"});
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_TRUE(imported.out.starts_with("back/model.safetensors has lenet5")) << imported.out;
  EXPECT_EQ(read("back/model.safetensors"), read("run/model.safetensors"));
  const Outcome inspected = weft({"inspect", "back", "--json"});
  EXPECT_EQ(json_lines(inspected.out).at(0).at("network"), "lenet5");

  expect_error(weft({"import", "run/model.onnx", "--out", "back"}), 2, "back");
  expect_error(weft({"import", "run/model.onnx"}), 2, "--out");
  expect_error(weft({"import", "gone.onnx", "--out", "new"}), 3, "gone.onnx");
  expect_error(weft({"import", "run/model.safetensors", "--out", "new"}), 3, "no ONNX file");
  expect_error(weft({"import", "run/model.onnx", "--out", "new", "--classes", "a,b"}), 2,
               "10 classes");
  expect_error(weft({"import", "run/model.onnx", "--out", "new", "--input", "3x32"}), 2, "--input");
  expect_error(weft({"import", "run/model.onnx", "--out", "new", "--input", "1x28x32"}), 2,
               "--input 1x28x32");
  expect_error(weft({"import", "run/model.onnx", "--out", "new", "--stddev", "0"}), 2, "--stddev");
  EXPECT_FALSE(fs::exists(folder() / "new"));

  const Outcome named = weft({"import", "run/model.onnx", "--out", "n.safetensors", "--classes",
                              "a,b,c,d,e,f,g,h,i,j", "--mean", "0.5", "--stddev", "0.25"});
  EXPECT_EQ(named.exit_code, 0) << named.err;
  const models::ModelInfo info = models::load_model(folder() / "n.safetensors").info;
  EXPECT_EQ(info.class_names.back(), "j");
  EXPECT_EQ(info.mean, std::vector(1, 0.5f));
  EXPECT_EQ(info.stddev, std::vector(1, 0.25f));

  const Outcome json = weft({"import", "run/model.onnx", "--out", "j.safetensors", "--json"});
  const nlohmann::json event = json_lines(json.out).at(0);
  EXPECT_EQ(event.at("event"), "import");
  EXPECT_EQ(event.at("model_path"), "j.safetensors");
  EXPECT_EQ(event.at("network"), "lenet5");
  EXPECT_EQ(event.at("parameters"), 61706);
  EXPECT_EQ(event.at("softmax_dropped"), false);
}

}  // namespace
}  // namespace weft::test
