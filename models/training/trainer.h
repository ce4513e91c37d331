// SPDX-License-Identifier: MIT
// Trainer: SGD or AdamW over a data set that lives on the device, with metrics, checkpoints and
// resume.
//
// A step is gather, forward, loss, backward, update and a step counter on the device; the host only
// queues it (on a GPU as one CUDA graph) and reads the totals about twenty times a second. A step
// is a pure function of (seed, step), so a resumed run gives the same bits as an unbroken one.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "data/files/directory.h"
#include "data/sets/dataset.h"
#include "distributed/communicator.h"
#include "models/answers/evaluate.h"
#include "models/answers/metrics.h"
#include "models/model.h"
#include "models/training/runs/run_session.h"
#include "models/training/split.h"
#include "models/training/train_config.h"

namespace weft::models {

struct TrainObserver {
  // Called after the first steps of a run, then about twenty times a second, when the totals have
  // been read from the device, and after the last step of each epoch; may be empty.
  std::function<void(int epoch, std::int64_t images_done, std::int64_t images_total)> progress;
  std::function<void(const EpochRecord&)> epoch_done;  // may be empty
  std::function<void()> committed = {};  // after the run directory was written; may be empty
  // As EvaluationWatch::progress, at the end of an epoch, of the held-out and of the test images.
  std::function<void(std::int64_t images_done, std::int64_t images_total)> evaluating = {};
};

enum class TrainEnd { finished, interrupted };

// The run directory: config.json, metrics.jsonl, metrics.csv, model.safetensors (last),
// best.safetensors (best by validation accuracy, only with a validation split),
// optimizer.safetensors, state.json. optimizer.safetensors is the one commit point. It holds the
// parameters, the optimizer's states and buffers, the best ones too, and in its metadata the
// config, the history and the step. One rename replaces it when the run starts, when it ends (also
// by an interruption or an error), and after an epoch, but at most four times a second. The other
// files follow from it and are rewritten on resume. kill -9 loses at most one epoch, or a quarter
// of a second of shorter ones. With an ema_decay the average of the weights is evaluated, and
// model.safetensors and best.safetensors hold it.
//
// With several ranks each calls the same functions, with a data set of its own that holds the same.
// The batch size is that of all ranks: they follow the course of one rank to rounding, but for
// batch norm without sync_batch_norm, whose statistics are of a rank's own rows. Rank 0 writes and
// reads the run directory; what the records hold is of all ranks. Ranks that were started with
// other settings, data or programs than rank 0 are refused with Error{usage}.
//
// A trainer belongs to one thread at a time; `stop` may be set by any. `ranks` must outlive it.
class Trainer {
 public:
  // A new run. `run_dir` is created; Error{usage} when it already holds a run, Error{data} when it
  // cannot be written. An empty run_dir trains without writing anything. Where the images of all
  // sets are more than device_data_limit bytes, or what streams_images() says for 0, they stay in
  // the memory of `dataset`, which must then outlive the trainer. `prepared`: what prepare() made
  // of this data set with this config, where that was done before; else it is done here.
  Trainer(const TrainConfig& config, const data::Dataset& dataset,
          const std::filesystem::path& run_dir, const Stream& stream,
          std::uint64_t device_data_limit = 0,
          distributed::Communicator& ranks = distributed::alone(),
          std::optional<PreparedData> prepared = std::nullopt);
  // Continues the run in `run_dir`; `epochs` replaces the number of epochs as long as the
  // schedule allows it (constant and step do; cosine and one-cycle are fixed by their length:
  // Error{usage}). Other settings come from the run.
  static Trainer resume(const std::filesystem::path& run_dir, const data::Dataset& dataset,
                        std::optional<int> epochs, const Stream& stream,
                        std::uint64_t device_data_limit = 0,
                        distributed::Communicator& ranks = distributed::alone());
  // The config of the run in run_dir, so that a program can load the right data set first. The
  // tensors are checked here too: nobody waits for a data set to hear that one is missing.
  static TrainConfig config_of(const std::filesystem::path& run_dir,
                               distributed::Communicator& ranks = distributed::alone());

  Trainer(Trainer&&) noexcept;
  ~Trainer();

  // Adds the command that trains from here on to those that the run tells of. Each checkpoint
  // brings its times up to date.
  void begin(RunSession session);
  // The sessions of the run, this one last.
  const std::vector<RunSession>& sessions() const;
  // Trains the remaining epochs. When `stop` becomes true (a signal handler may set it) training
  // ends after the steps that are queued, about a twentieth of a second of work at most; a
  // checkpoint of exactly that step is committed, and interrupted is returned; a resume goes on in
  // the middle of the epoch. An evaluation is given up between two batches, and made by the resume.
  // Where host-cuda is asked to stop (engine/stop.h) a step is given up too. A loss, or a weight
  // about to be saved, that is not finite throws Error{check_failed} naming the first layer whose
  // output was not finite; the last good checkpoint is kept. `stop_after_epoch` ends after that
  // epoch, as if interrupted there (for tests and --stop-after).
  TrainEnd run(const TrainObserver& observer, const std::atomic<bool>& stop,
               std::optional<int> stop_after_epoch = std::nullopt);

  const TrainConfig& config() const;
  // What a new run has taken of config().start_from, a sentence each; empty for others.
  const std::vector<std::string>& taken() const;
  const std::vector<EpochRecord>& history() const;  // including epochs before a resume
  const std::vector<StepRecord>& log() const;       // a record at most every log_every steps
  std::int64_t train_images() const;                // that an epoch shows
  std::int64_t images_of_epoch_done() const;        // of the epoch that was interrupted, else 0
  Model model() const;                              // a copy of the current weights on the host
  std::size_t device_bytes() const;                 // memory of the stream, at its peak
  std::string_view step() const;                    // what computes one: TrainStep::name()
  bool streams() const;                             // are the images brought batch by batch?
  // The open folder of the run; none where nothing is written.
  std::optional<data::Directory> run_directory() const;

 private:
  struct State;
  explicit Trainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft::models
