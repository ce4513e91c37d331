// SPDX-License-Identifier: MIT
// What training tells: the lines before it, a row per epoch, and the summary after it; as text for
// people or as JSON lines for programs.
#pragma once

#include <filesystem>
#include <string>

#include "data/sets/dataset.h"
#include "examples/weft/output/results.h"
#include "examples/weft/output/terminal.h"
#include "models/training/trainer.h"

namespace weft::cli {

struct TrainFacts {
  const models::TrainConfig& config;
  const data::Dataset& dataset;
  Device device;
  std::int64_t parameters = 0;
  std::filesystem::path run_dir;
  int epochs_before = 0;           // already in the run when it is resumed
  std::int64_t images_before = 0;  // and of the epoch that it goes on in
  bool has_work() const { return epochs_before < config.epochs; }
  const distributed::Communicator& ranks;
  std::string data_arguments;     // for the commands to try next: " --data-dir DIR" or ""
  std::string_view step = {};     // what computes one: layers, or the kernels of a whole network
  bool streams = false;           // the images come from host memory, batch by batch
  std::int64_t train_images = 0;  // that an epoch shows
};

class TrainReport {
 public:
  explicit TrainReport(bool json) : json_(json), terminal_(detect_terminal(kStdout)) {}

  void start(const TrainFacts& facts);
  void epoch(const models::EpochRecord& record);
  // `samples` are image files that predict can be tried on; empty when none were written.
  void finished(const TrainFacts& facts, const std::vector<models::EpochRecord>& history,
                const models::Evaluation& evaluation, double seconds,
                const std::filesystem::path& samples);
  // In the middle of an epoch when `images` of it are done.
  void stopped(const TrainFacts& facts, const std::vector<models::EpochRecord>& history,
               std::int64_t images, double seconds);

 private:
  void json_end(const TrainFacts& facts, const std::vector<models::EpochRecord>& history,
                double seconds, bool interrupted);

  bool json_;
  Terminal terminal_;
  bool validation_ = false;
};

std::string device_text(Device device);  // "cpu (AMD EPYC ..., 2 threads, avx512)"

}  // namespace weft::cli
