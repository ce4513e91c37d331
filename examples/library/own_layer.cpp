// SPDX-License-Identifier: MIT
// A layer of a program's own: a class and a row. Networks, training and ONNX files then know it.
#include <cstdio>

#include "data/sets/digits.h"
#include "engine/text.h"
#include "layers/registry/registry.h"
#include "models/onnx/onnx.h"
#include "models/training/trainer.h"

namespace {

using namespace weft::layers;

// y = x where x > theta, and 0 elsewhere. On the CPU alone: on a GPU it would launch() a kernel.
class ThresholdedReLU final : public Layer {
 public:
  ThresholdedReLU(std::string name, float theta) : Layer(std::move(name)), theta_(theta) {}

  static LayerText read(Words& words) {
    const float theta = words.real("a number from 0 to less than 1", 0, 1);
    return {[theta](const LayerSite& site) {
      return std::make_unique<ThresholdedReLU>(site.name, theta);
    }};
  }
  static OnnxWords from_onnx(OnnxReader& node) {
    return {.words = weft::str("thresholded_relu ", node.real("alpha", 1.0f))};
  }
  OnnxNode onnx(const weft::Shape&) const override {
    return {"ThresholdedRelu", {{"alpha", theta_}}};
  }

  std::string_view type() const override { return "ThresholdedReLU"; }
  std::string describe() const override { return weft::str("ThresholdedReLU(", theta_, ")"); }
  LayerTraits traits() const override { return {.in_place = true}; }

 protected:
  weft::Shape do_output_shape(const weft::Shape& input) const override { return input; }
  void do_forward(const ForwardCall& call) const override {
    for (std::int64_t i = 0; i < call.x.elements(); ++i) {
      call.y.data[i] = call.x.data[i] > theta_ ? call.x.data[i] : 0;
    }
  }
  void do_backward(const BackwardCall& call) const override {
    if (call.dx.data == nullptr) return;
    for (std::int64_t i = 0; i < call.y.elements(); ++i) {
      call.dx.data[i] = call.y.data[i] > 0 ? call.dy.data[i] : 0;
    }
  }

 private:
  float theta_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return std::puts("usage: own_layer RUN_DIR"), 2;
  register_layer({.type = "ThresholdedReLU",
                  .word = "thresholded_relu",
                  .arguments = "THETA",
                  .stem = "threshold",
                  .read = ThresholdedReLU::read,
                  .onnx = {{"ThresholdedRelu", ThresholdedReLU::from_onnx}}});

  weft::models::TrainConfig config;
  config.network.name = "own.net";
  config.network.definition = "linear 64\nthresholded_relu 0.125\nlinear classes\n";
  const auto digits = weft::data::generate_digits({.train = 4000, .test = 500});
  config.dataset = digits.name;
  config.epochs = 3;
  weft::models::Trainer trainer(config, digits, argv[1], weft::Stream(weft::Device::cpu()));
  trainer.run({}, std::atomic<bool>{false});
  const double accuracy = trainer.history().back().test.accuracy;
  std::printf("test accuracy %.2f %%\n", 100 * accuracy);

  const weft::models::Model model = weft::models::load_model(argv[1]);
  bool same = true;
  if (weft::models::knows_onnx()) {
    const auto file = std::filesystem::path(argv[1]) / "own.onnx";
    weft::models::write_onnx(file, model);
    const weft::models::Model back = weft::models::read_onnx(file).model;
    same = back.info.network.definition == model.info.network.definition &&
           back.parameters == model.parameters;
    std::printf("%s: %s\n", file.string().c_str(), back.net->layers()[2]->describe().c_str());
  }
  return accuracy > 0.5 && same ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", weft::printable(error.what()).c_str());
  return error.exit_code();
}
