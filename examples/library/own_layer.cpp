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

// y = x where x > 0, and slope x elsewhere. On the CPU alone: on a GPU it would launch() a kernel.
class LeakyReLU final : public Layer {
 public:
  LeakyReLU(std::string name, float slope) : Layer(std::move(name)), slope_(slope) {}

  static LayerText read(Words& words) {
    const float slope = words.real("a slope from 0 to less than 1", 0, 1);
    return {
        [slope](const LayerSite& site) { return std::make_unique<LeakyReLU>(site.name, slope); }};
  }
  static OnnxWords from_onnx(OnnxReader& node) {
    return {.words = weft::str("leaky_relu ", node.real("alpha", 0.01f))};
  }
  OnnxNode onnx(const weft::Shape&) const override { return {"LeakyRelu", {{"alpha", slope_}}}; }

  std::string_view type() const override { return "LeakyReLU"; }
  std::string describe() const override { return weft::str("LeakyReLU(", slope_, ")"); }
  LayerTraits traits() const override { return {.in_place = true}; }

 protected:
  weft::Shape do_output_shape(const weft::Shape& input) const override { return input; }
  void do_forward(const ForwardCall& call) const override {
    scale(call.y.data, call.x.data, call.x.data, call.x.elements());
  }
  void do_backward(const BackwardCall& call) const override {  // y has the sign of x
    if (call.dx.data != nullptr) scale(call.dx.data, call.dy.data, call.y.data, call.y.elements());
  }

 private:
  void scale(float* to, const float* from, const float* sign, std::int64_t n) const {
    for (std::int64_t i = 0; i < n; ++i) to[i] = sign[i] > 0 ? from[i] : slope_ * from[i];
  }

  float slope_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return std::puts("usage: own_layer RUN_DIR"), 2;
  register_layer({.type = "LeakyReLU",
                  .word = "leaky_relu",
                  .arguments = "SLOPE",
                  .stem = "leaky",
                  .read = LeakyReLU::read,
                  .onnx = {{"LeakyRelu", LeakyReLU::from_onnx}}});

  weft::models::TrainConfig config;
  config.network.name = "leaky.net";
  config.network.definition = "linear 64\nleaky_relu 0.125\nlinear classes\n";
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
    const auto file = std::filesystem::path(argv[1]) / "leaky.onnx";
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
