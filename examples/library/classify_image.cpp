// SPDX-License-Identifier: MIT
// Reads one picture with a trained model through the C++ API:  classify_image MODEL IMAGE
#include <algorithm>
#include <cstdio>

#include "data/ink/colour.h"
#include "data/ink/preprocess.h"
#include "engine/text.h"
#include "models/answers/classifier.h"
#include "models/training/trainer.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::puts("usage: classify_image MODEL IMAGE"), 2;
  try {
    const weft::models::Model model = weft::models::load_model(argv[1]);
    const weft::data::PreparedImage image = weft::data::prepare_image(
        weft::data::load_ink_image(argv[2]), weft::data::Preprocess::mnist,
        weft::data::Invert::automatic, argv[2]);

    const weft::Stream stream(weft::Device::cpu());
    weft::layers::Weights weights(*model.net, stream, weft::layers::Phase::inference);
    weft::copy_from_host(weights.parameters.view<float>(), model.parameters, stream);
    weft::copy_from_host(weights.buffers.view<float>(), model.buffers, stream);
    weft::layers::Plan plan(*model.net, weights, 1, weft::layers::Phase::inference, {}, 0, nullptr,
                            stream);

    weft::copy_from_host(plan.input(), weft::models::normalized(image.pixels, model.info), stream);
    plan.forward(stream);
    const std::vector<float> logits = weft::to_host(plan.output(), stream);
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    const std::string& name = model.info.class_names[static_cast<std::size_t>(best)];
    std::printf("%s\n", weft::printable(name).c_str());
    return 0;
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "%s\n", weft::printable(error.what()).c_str());
    return error.exit_code();
  }
}
