// SPDX-License-Identifier: MIT
// weft train: from a data set to a run directory with a trained model in it.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <future>
#include <limits>
#include <memory>

#include "data/files/file_io.h"
#include "engine/stop.h"
#include "engine/timer.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/interrupt.h"
#include "examples/weft/input/load_data.h"
#include "examples/weft/train/curves.h"
#include "examples/weft/train/flags.h"
#include "examples/weft/train/page.h"
#include "examples/weft/train/report.h"
#include "examples/weft/train/samples.h"
#include "models/files/safetensors.h"
#include "models/training/runs/run_directory.h"
#include "models/training/split.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

void write_curves(const models::Trainer& trainer, const data::Directory& run) {
  const models::TrainConfig& config = trainer.config();
  const std::string title =
      fmt::format("{} on {}, batch {}", config.network.name, config.dataset, config.batch_size);
  data::write_file_atomically(run / models::kCurvesFile, curves_svg(trainer.history(), title));
}

// Threads take their time on host-cuda, so a first batch tells how long a test set will take.
void tell_evaluation_time(const models::Trainer& trainer, const data::ImageSet& test,
                          const Stream& stream, const std::atomic<bool>& stop) {
  if (!built_for_host_cuda() || !stream.device().is_cuda()) return;
  data::ImageSet probe = test;
  models::keep_first(probe, models::evaluation_batch(stream.device()));
  const models::Evaluation evaluation = models::evaluate(
      trainer.model(), probe, probe.count, trainer.config().kernels, stream, 0, {&stop});
  print_notice(fmt::format(
      "evaluating {} test images will take about {} on host-cuda, after each epoch and once more "
      "at the end; --limit-test N takes fewer",
      format_count(test.count),
      format_duration(evaluation.seconds / static_cast<double>(probe.count) *
                      static_cast<double>(test.count))));
}

// What a training shows of itself on the way: epochs, and evaluations that take long.
class TrainBar {
 public:
  // `before` epochs were trained before; the last of now is `last`.
  TrainBar(const std::string& mode, int before, int last)
      : progress_(mode, 5), before_(before), last_(last) {}

  void train(int epoch, std::int64_t done, std::int64_t total) {
    if (total <= 0 || done <= 0 || !progress_.due()) return;
    const double part = share(done, total);
    const double epochs_done = epoch - (before_ + 1) + part;
    progress_.show(
        fmt::format("epoch {}/{}", epoch, last_), part, pace(done, since_epoch_),
        (last_ - before_ - epochs_done) * timer_.seconds() / std::max(epochs_done, 1e-9));
  }

  void evaluate(std::int64_t done, std::int64_t total) {
    if (done == 0) since_evaluation_.restart();
    constexpr double kLong = 1;  // a bar for less would only flicker
    if (since_evaluation_.seconds() < kLong || !progress_.due()) return;
    progress_.show("evaluating", share(done, total), pace(done, since_evaluation_),
                   static_cast<double>(total - done) * since_evaluation_.seconds() /
                       std::max(1.0, static_cast<double>(done)));
  }

  void end_epoch() {
    clear();
    since_epoch_.restart();
  }

  void clear() { progress_.clear(); }
  double seconds() const { return timer_.seconds(); }

 private:
  static double share(std::int64_t done, std::int64_t total) {
    return static_cast<double>(done) / static_cast<double>(total);
  }
  static std::string pace(std::int64_t done, const Timer& since) {
    const double rate = static_cast<double>(done) / std::max(1e-6, since.seconds());
    return format_count(std::llround(rate)) + " images/s";
  }

  Progress progress_;
  int before_, last_;
  Timer timer_, since_epoch_, since_evaluation_;
};

int train(models::Trainer& trainer, const TrainFlags& flags, data::Dataset& dataset,
          const fs::path& run_dir, const Stream& stream, const distributed::Communicator& ranks) {
  const models::TrainConfig& config = trainer.config();
  notice_limit("--limit-test", config.limit_test, dataset.test.count, "test", dataset.name);
  models::keep_first(dataset.test, config.limit_test);  // those that the trainer looks at
  const int before = static_cast<int>(trainer.history().size());
  const TrainFacts facts{config,
                         dataset,
                         stream.device(),
                         trainer.model().net->parameter_count(),
                         run_dir,
                         before,
                         trainer.images_of_epoch_done(),
                         ranks,
                         data_arguments(flags.data, config.own_data),
                         trainer.step(),
                         trainer.streams(),
                         trainer.train_images()};
  const std::vector<std::string> words = command_line();
  trainer.begin(models::begin_session(program_name(), {words.begin() + 1, words.end()},
                                      stream.device(), omp_get_max_threads()));
  TrainReport report(flags.json);
  report.start(facts);
  const int last = std::min(flags.stop_after.value_or(config.epochs), config.epochs);
  TrainBar bar(ranks.is_first() ? flags.progress : "off", before, last);
  models::TrainObserver observer;
  observer.progress = [&](int epoch, std::int64_t done, std::int64_t total) {
    bar.train(epoch, done, total);
  };
  observer.evaluating = [&](std::int64_t done, std::int64_t total) { bar.evaluate(done, total); };
  observer.epoch_done = [&](const models::EpochRecord& record) {
    bar.end_epoch();
    report.epoch(record);
  };
  const std::optional<data::Directory> run = trainer.run_directory();  // of the first rank
  if (run) observer.committed = [&] { write_curves(trainer, *run); };
  const std::atomic<bool>& stop_requested = catch_interrupts();
  const auto stopped = [&] {
    bar.clear();
    report.stopped(facts, trainer.history(), trainer.images_of_epoch_done(), bar.seconds());
    return stop_requested ? kInterrupted : 0;
  };
  const models::EvaluationWatch watch{&stop_requested, observer.evaluating};
  models::Evaluation evaluation;
  double seconds = 0;
  try {
    tell_evaluation_time(trainer, dataset.test, stream, stop_requested);
    if (trainer.run(observer, stop_requested, flags.stop_after) == models::TrainEnd::interrupted) {
      return stopped();
    }
    bar.clear();
    if (!run) return 0;
    seconds = bar.seconds();
    evaluation = models::evaluate(trainer.model(), dataset.test, config.batch_size, config.kernels,
                                  stream, device_data_limit(flags.device), watch);
    bar.clear();
  } catch (const Stopped&) {  // before the first step, or after the last one
    return stopped();
  }
  const models::Model model = trainer.model();
  const TimedScope timed("write samples and report");
  const fs::path samples = write_samples(dataset, *run);
  data::write_file_atomically(*run / models::kReportFile,
                              report_page(facts, trainer, model, evaluation));
  if (!facts.has_work()) write_curves(trainer, *run);  // nothing was left to train
  report.finished(facts, trainer.history(), evaluation, seconds, samples);
  return 0;
}

// Where memory runs out, the error says what training takes.
template <class Run>
int with_memory_plan(const models::TrainConfig& config, const data::Dataset& dataset, Device device,
                     const Run& run) {
  try {
    return run();
  } catch (const OutOfMemory& error) {
    throw Error(error.kind(),
                fmt::format("{}; {}", error.what(), memory_clause(config, dataset, device)));
  }
}

// Goes on with the run of --resume.
int resume_train(TrainFlags flags) {
  distributed::Communicator& ranks = join_ranks(flags.ranks, flags.device);
  const std::string& run = *flags.resume;
  const std::optional<int> epochs = epochs_given(flags.settings);
  const models::TrainConfig config = models::Trainer::config_of(run, ranks);
  check_same_network(flags, config);
  const Device device = select_device(flags.device);
  announce_device(flags.device, device);
  const models::OwnData own = own_data_from(flags.data.own, config.own_data);
  auto loading = in_the_background([&] {
    return own.path.empty() ? load_images(config.dataset, flags.data.data_dir, config.limit_train)
                            : load_own(own, flags.data.own, data::Holding::tenth, flags.progress);
  });
  const Stream stream(device);
  data::Dataset dataset = loading.get();
  catch_interrupts();
  ranks.attach(stream, reduction_of(flags.ranks));
  if (flags.dry_run) {
    print_plan(flags, models::preview_resume(run, dataset, epochs), dataset, device);
    return 0;
  }
  return with_memory_plan(config, dataset, device, [&] {
    models::Trainer trainer = models::Trainer::resume(run, dataset, epochs, stream,
                                                      device_data_limit(flags.device), ranks);
    return train(trainer, flags, dataset, run, stream, ranks);
  });
}

// Trains anew, with these settings; the data set decides some of them too.
int run_train(TrainFlags flags, models::TrainConfig config) {
  distributed::Communicator& ranks = join_ranks(flags.ranks, flags.device);
  const auto load = [&] {
    return config.own_data.path.empty()
               ? load_or_generate({flags.data.dataset, flags.data.data_dir, {}}, config.limit_train)
               : load_own(config.own_data, flags.data.own, data::Holding::tenth, flags.progress);
  };
  // What takes as long as a GPU's driver takes to start.
  struct Loaded {
    data::Dataset dataset;
    std::optional<models::PreparedData> prepared;
  };
  const auto load_and_prepare = [&] {
    Loaded loaded{load(), std::nullopt};
    loaded.prepared = models::prepare(loaded.dataset, config);
    return loaded;
  };
  std::future<Loaded> loading;
  if (config.own_data.path.empty() &&
      is_here(flags.data.dataset.value_or(kDefaultDataset), flags.data.data_dir)) {
    loading = in_the_background(load_and_prepare);
  }
  const Device device = select_device(flags.device);
  config.kernels = kernels_from(flags, config, device);
  announce_device(flags.device, device);
  if (!loading.valid()) {
    loading = in_the_background([&] { return Loaded{load(), std::nullopt}; });
  }
  const Stream stream(device);
  Loaded loaded = loading.get();
  data::Dataset& dataset = loaded.dataset;
  notice_limit("--limit-train", config.limit_train, dataset.train.count, "training", dataset.name);
  adopt_data_set(config, flags, dataset);
  const fs::path run_dir =
      flags.out
          ? fs::path(*flags.out)
          : next_free_run(fs::path(config.network.name).stem().string() + "-" + config.dataset);
  catch_interrupts();
  ranks.attach(stream, reduction_of(flags.ranks));
  if (flags.dry_run) {
    print_plan(flags, models::preview_new_run(config, dataset, run_dir, std::move(loaded.prepared)),
               dataset, device);
    return 0;
  }
  if (dataset.own_data && ranks.is_first()) tell_doubts(dataset);
  return with_memory_plan(config, dataset, device, [&] {
    models::Trainer trainer(config, dataset, run_dir, stream, device_data_limit(flags.device),
                            ranks, std::move(loaded.prepared));
    for (const std::string& line : trainer.taken()) {
      if (ranks.is_first()) print_notice(line);
    }
    return train(trainer, flags, dataset, run_dir, stream, ranks);
  });
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* sub = app.add_subcommand("train", "Train a network; weft train alone is a good start");
  add_train_flags(*sub, *flags);
  sub->callback([flags, sub, &action] {
    action.run = [flags, sub] {
      device_data_limit(flags->device);  // throws for text that is no size
      if (!flags->resume) {
        const models::TrainConfig config = config_from(*sub, *flags);
        return run_train(*flags, config);
      }
      check_resume_flags(*sub);
      return resume_train(*flags);
    };
  });
}

}  // namespace weft::cli
