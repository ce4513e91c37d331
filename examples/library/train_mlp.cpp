// SPDX-License-Identifier: MIT
// Trains an MLP on generated digits through the C++ API and saves it:  train_mlp RUN_DIR
#include <atomic>
#include <cstdio>

#include "data/picture/image.h"
#include "data/sets/digits.h"
#include "engine/text.h"
#include "models/training/trainer.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::puts("usage: train_mlp RUN_DIR"), 2;
  try {
    const weft::data::Dataset digits = weft::data::generate_digits({.train = 10000, .test = 2000});

    weft::models::TrainConfig config;
    config.network.name = "mlp";
    config.dataset = digits.name;
    config.epochs = 3;
    config.schedule.peak = 0.05f;

    const weft::Stream stream(weft::parse_device("auto"));
    weft::models::Trainer trainer(config, digits, argv[1], stream);
    weft::models::TrainObserver observer;
    observer.epoch_done = [](const weft::models::EpochRecord& epoch) {
      std::printf("epoch %d: test accuracy %.2f %%\n", epoch.epoch, 100 * epoch.test.accuracy);
    };
    trainer.run(observer, std::atomic<bool>{false});

    // A picture to try the model on: the first test image.
    const weft::data::ImageSet& test = digits.test;
    const std::span<const std::uint8_t> first(test.images.data(), 28 * 28);
    weft::data::write_png(std::filesystem::path(argv[1]) / "first.png", first, 28, 28, 1);
    std::printf("the first test image, a %d, is in %s/first.png\n", test.labels[0], argv[1]);
    return trainer.history().back().test.accuracy > 0.8 ? 0 : 1;
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "%s\n", weft::printable(error.what()).c_str());
    return error.exit_code();
  }
}
