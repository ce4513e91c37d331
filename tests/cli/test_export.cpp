// SPDX-License-Identifier: MIT
// weft export and weft import: where files go, and what is refused.
#include <fmt/format.h>

#include "layers/registry/registry.h"
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

// tests/browser/test_export.py opens such pages.
TEST_F(Export, APageHasTheNetworkAndAsksNobody) {
  const Outcome outcome = weft({"export", "run", "--format", "html"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string page = read("run/model.html");
  EXPECT_LE(page.size(), std::size_t{3} << 20);
  EXPECT_NE(
      page.find("Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-"),
      std::string::npos);
  EXPECT_EQ(page.find("{{"), std::string::npos);
  EXPECT_EQ(weft({"export", "run", "--out", "m.html"}).exit_code, 0);
  EXPECT_EQ(read("m.html"), page);
  expect_error(weft({"export", "run", "--out", "m.html", "--opset", "17"}), 2, "--opset");
  models::Model model = untrained_model();
  model.info.network = {.name = "two.net", .channels = 2, .definition = "linear classes\n"};
  model.net = models::make_network(model.info.network);
  model.parameters = model.net->initial_parameters(1);
  model.info.mean = {0, 0};
  model.info.stddev = {1, 1};
  models::write_safetensors(folder() / "two.safetensors", models::model_content(model));
  expect_error(weft({"export", "two.safetensors", "--out", "two.html"}), 2, "reads 2 channels");
}

// A page computes the operators that layers say.
TEST_F(Export, APageKnowsEveryLayer) {
  for (const layers::LayerRow& row : layers::layer_rows()) {
    if (!row.why_not.empty()) continue;
    SCOPED_TRACE(row.type);
    models::Model model = untrained_model();
    model.info.network = {
        .name = "t.net",
        .definition = fmt::format("conv 2 1x1\n{} {}\nlinear classes\n", row.word, row.example)};
    model.net = models::make_network(model.info.network);
    model.parameters = model.net->initial_parameters(1);
    model.buffers = model.net->initial_buffers();
    models::write_safetensors(folder() / "t.safetensors", models::model_content(model));
    const Outcome outcome = weft({"export", "t.safetensors", "--out", "t.html"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
}

TEST_F(Export, Int8MeasuresRangesThatPredictNeeds) {
  const std::vector<std::string> predict = {"predict", "run", "p.pgm", "--precision", "int8"};
  write("p.pgm", "P5 28 28 255\n" + std::string(300, '\0') + std::string(60, '\xff') +
                     std::string(424, '\0'));
  expect_error(weft(predict), 2, "export run --precision int8 --out int8.safetensors");
  const Outcome made = weft({"export", "run", "--precision", "int8", "--out", "int8.safetensors",
                             "--dataset", "digits", "--json"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const nlohmann::json event = json_lines(made.out).at(0);
  EXPECT_EQ(event.at("precision"), "int8");
  EXPECT_NEAR(event.at("accuracy").at("int8").get<double>(),
              event.at("accuracy").at("fp32").get<double>(), 0.02);
  const auto logits = [&](const std::string& precision) {
    const Outcome answer =
        weft({"predict", "int8.safetensors", "p.pgm", "--precision", precision, "--json"});
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    return json_lines(answer.out).at(0).at("logits").get<std::vector<float>>();
  };
  const auto int8 = logits("int8"), fp32 = logits("fp32");
  EXPECT_NE(int8, fp32);
  for (std::size_t i = 0; i < fp32.size(); ++i) EXPECT_NEAR(int8[i], fp32[i], 0.05) << i;
}

TEST_F(Export, APrecisionIsRefusedWhereItMeansNothing) {
  expect_error(weft({"export", "run", "--precision", "int8", "--format", "npz"}), 2,
               "npz is not written in int8");
  expect_error(weft({"export", "run", "--precision", "fp16", "--out", "m.safetensors"}), 2,
               "safetensors is not written in fp16");
  expect_error(weft({"export", "run", "--format", "npz", "--dataset", "digits"}), 2,
               "for --precision int8 alone");
  expect_error(
      weft({"eval", "run", "--dataset", "digits", "--precision", "int8", "--impl", "fuse=off"}), 2,
      "--impl");
  expect_error(weft({"predict", "run", "p.pgm", "--precision", "bf16"}), 2, "bf16");
  EXPECT_FALSE(fs::exists(folder() / "m.safetensors"));
}

TEST_F(Export, TheEndingIsTheFormat) {
  EXPECT_EQ(weft({"export", "run", "--out", "m.npz"}).exit_code, 0);
  EXPECT_EQ(weft({"export", "run", "--format", "npz", "--out", "m.any"}).exit_code, 0);
  EXPECT_EQ(read("m.npz").substr(0, 2), "PK");
  EXPECT_EQ(read("m.any"), read("m.npz"));
}

// Tensors alone, of a network that --model names.
TEST_F(Export, ImportTakesWeightsOfANetworkThatIsNamed) {
  const fs::path file = fs::path(WEFT_TESTS_DIR) / "models/weights/files/old.pth";
  fs::copy_file(file, folder() / "w.pth");
  write("m.net", "conv 2 3x3\nbatch_norm\nrelu\nlinear classes\n");
  const Outcome outcome =
      weft({"import", "w.pth", "--model", "m.net", "--input", "1x4x4", "--out", "new"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("matched by their order and shapes"), std::string::npos);
  EXPECT_NE(outcome.out.find("fc1.weight        4.weight"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("new/model.safetensors has m.net, 51 parameters"), std::string::npos)
      << outcome.out;
  const Outcome json = weft({"import", "w.pth", "--model", "m.net", "--input", "1x4x4", "--map",
                             "conv1=0,bn1=1,fc1=4", "--range", "-1..1", "--classes", "a,b,c",
                             "--out", "j.safetensors", "--json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  const nlohmann::json event = json_lines(json.out).at(0);
  EXPECT_EQ(event.at("map").at("conv1.weight"), "0.weight");
  EXPECT_EQ(event.at("normalisation"), "flags");
  EXPECT_EQ(models::load_model(folder() / "j.safetensors").info.class_names.back(), "c");

  expect_error(weft({"predict", "w.pth", "x.png"}), 3, "`weft import w.pth --model NETWORK");
  expect_error(weft({"inspect", "w.pth"}), 3, "a file of PyTorch");
  expect_error(weft({"eval", "w.pth", "--dataset", "digits"}), 3, "a file of PyTorch");
  expect_error(weft({"import", "w.pth", "--out", "x"}), 3, "a file of PyTorch");
  expect_error(weft({"import", "w.pth", "--model", "lenet5", "--out", "x"}), 3,
               "where the network's conv1.weight has (6, 1, 5, 5)");
  expect_error(weft({"import", "w.pth", "--model", "lenet6", "--out", "x"}), 2, "lenet5");
  expect_error(weft({"import", "w.pth", "--model", "gone.net", "--out", "x"}), 3, "gone.net");
  expect_error(weft({"import", "w.pth", "--map", "conv1=0", "--out", "x"}), 2, "--model");
  expect_error(weft({"import", "w.pth", "--model", "m.net", "--map", "conv1", "--out", "x"}), 2,
               "--map");
  EXPECT_FALSE(fs::exists(folder() / "x"));
}

TEST_F(Export, SafetensorsIsACopy) {
  expect_error(weft({"export", "run", "--format", "safetensors"}), 2, "--out");
  EXPECT_EQ(weft({"export", "run", "--format", "safetensors", "--out", "c.safetensors"}).exit_code,
            0);
  EXPECT_EQ(read("c.safetensors"), read("run/model.safetensors"));
}

TEST_F(Export, RefusesInOneLine) {
  expect_error(weft({"export", "run"}), 2,
               "--format is required, one of onnx, html, npz, safetensors");
  expect_error(weft({"export", "run", "--out", "m.txt"}), 2, "m.txt has none of these endings");
  expect_error(weft({"export", "run", "--out", "m.npz", "--format", "onnx"}), 2,
               "--out m.npz has the ending of npz, but --format is onnx");
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
  write("text.onnx", "this is no model");
  expect_error(weft({"import", "text.onnx", "--out", "new"}), 3, "no ONNX file");
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
  EXPECT_EQ(event.at("normalisation"), "training");
}

// A model that says nothing of its pixels: each command that uses it repeats what is assumed.
class Assumed : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    models::Model model = untrained_model();
    model.info.normalisation = models::NormalisationSource::assumed;
    models::write_safetensors(folder() / "m.safetensors", models::model_content(model));
    write("0.pgm", "P5\n28 28\n255\n" + std::string(28 * 14, '\0') + std::string(28 * 14, '\xff'));
  }

  static void expect_line(const Outcome& outcome, const std::string& model = "m.safetensors") {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find(model + ": pixel / 255 is assumed"), std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find("--range, --mean and --stddev, or --measure"), std::string::npos);
  }
};

TEST_F(Assumed, EveryCommandSaysSo) {
  const std::vector<std::vector<std::string>> commands = {
      {"predict", "m.safetensors", "0.pgm", "--preprocess", "none"},
      {"eval", "m.safetensors", "--dataset", "digits", "--device", "cpu"},
      {"inspect", "m.safetensors"},
      {"import", "m.safetensors", "--out", "copy.safetensors"}};
  for (const std::vector<std::string>& command : commands) {
    SCOPED_TRACE(command[0]);
    expect_line(weft(command));
    if (command[0] == "import") continue;
    std::vector<std::string> as_json = command;
    as_json.push_back("--json");
    const Outcome outcome = weft(as_json);
    EXPECT_EQ(json_lines(outcome.out).at(0).at("normalisation"), "assumed") << outcome.out;
  }
}

TEST_F(Assumed, InspectAndEvalNameNoDataSetThatTheFileDoesNot) {
  const Outcome text = weft({"inspect", "m.safetensors"});
  EXPECT_EQ(text.out.find("mnist"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("pixel / 255, assumed"), std::string::npos) << text.out;
  EXPECT_TRUE(
      json_lines(weft({"inspect", "m.safetensors", "--json"}).out).at(0).at("dataset").is_null());
  models::Model model = untrained_model();
  model.info.network.classes = 3;
  model.info.class_names.resize(3);
  model.net = models::make_network(model.info.network);
  model.parameters = model.net->initial_parameters(1);
  models::write_safetensors(folder() / "three.safetensors", models::model_content(model));
  expect_error(weft({"eval", "three.safetensors"}), 2, "--dataset NAME or --data DIR");
}

TEST_F(Assumed, ImportSaysAnother) {
  for (const auto& [range, mean, stddev] :
       {std::tuple("0..1", 0.0f, 1.0f), {"-1..1", 0.5f, 0.5f}, {"0..255", 0.0f, 1.0f / 255}}) {
    const Outcome outcome =
        weft({"import", "m.safetensors", "--out", "new.safetensors", "--range", range});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const models::ModelInfo info = models::load_model(folder() / "new.safetensors").info;
    EXPECT_EQ(info.mean, std::vector{mean});
    EXPECT_EQ(info.stddev, std::vector{stddev});
    EXPECT_EQ(info.normalisation, models::NormalisationSource::flags);
  }
  expect_error(weft({"import", "m.safetensors", "--out", "x", "--range", "0..2"}), 2, "0..2");
  expect_error(weft({"import", "m.safetensors", "--out", "x", "--range", "0..1", "--mean", "0"}), 2,
               "give one of the three");
  expect_error(weft({"import", "m.safetensors", "--out", "x", "--measure", "nowhere"}), 3,
               "nowhere");
  expect_error(weft({"import", "m.safetensors", "--out", "x", "--output", "y"}), 2, "ONNX");
  EXPECT_FALSE(fs::exists(folder() / "x"));
}

// One weight tells the brightness of an image, which -1..1 alone parts at one half.
TEST_F(Assumed, MeasureTakesWhatReadsThePicturesBest) {
  models::Model model;
  models::NetworkOptions& network = model.info.network;
  network = {.name = "light.net",
             .height = 4,
             .width = 4,
             .classes = 2,
             .definition = "linear classes no_bias\n"};
  model.info.class_names = {"dark", "light"};
  model.net = models::make_network(network);
  model.parameters.assign(32, 0);
  for (std::size_t i = 16; i < 32; ++i) model.parameters[i] = 1;
  model.info.normalisation = models::NormalisationSource::assumed;
  models::write_safetensors(folder() / "light.safetensors", models::model_content(model));
  for (const char* name : {"dark", "light"}) {
    fs::create_directories(folder() / "pictures" / name);
    for (char i = 0; i < 10; ++i) {
      const auto level = static_cast<char>(name[0] == 'd' ? 60 + i : 180 + i);
      write(fmt::format("pictures/{}/{}.pgm", name, int{i}),
            "P5\n4 4\n255\n" + std::string(16, level));
    }
  }
  const Outcome outcome = weft({"import", "light.safetensors", "--out", "new.safetensors",
                                "--measure", "pictures", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json event = json_lines(outcome.out).at(0);
  EXPECT_EQ(event.at("normalisation"), "measured");
  EXPECT_EQ(event.at("mean"), std::vector{0.5f});
  ASSERT_GE(event.at("measured").size(), 3u);
  EXPECT_EQ(event.at("measured")[0].at("accuracy"), 0.5);
  EXPECT_EQ(event.at("measured")[1].at("normalisation"), "-1..1");
  EXPECT_EQ(event.at("measured")[1].at("accuracy"), 1);
  const Outcome text =
      weft({"import", "light.safetensors", "--out", "text.safetensors", "--measure", "pictures"});
  EXPECT_NE(text.out.find("100.00 %"), std::string::npos) << text.out;
  EXPECT_EQ(read("text.safetensors"), read("new.safetensors"));
}

}  // namespace
}  // namespace weft::test
