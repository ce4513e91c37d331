// SPDX-License-Identifier: MIT
#include "models/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "engine/extent.h"
#include "engine/stop.h"
#include "engine/timer.h"
#include "engine/timings.h"
#include "models/answers/shared_evaluator.h"
#include "models/files/state_dict.h"
#include "models/training/calibration_images.h"
#include "models/training/data_parallel.h"
#include "models/training/runs/checkpoint.h"
#include "models/training/runs/run_checks.h"
#include "models/training/runs/run_directory.h"
#include "models/training/split.h"
#include "models/training/start.h"
#include "models/training/train_step.h"

namespace weft::models {

struct Trainer::State {
  State(Checkpoint start, std::unique_ptr<layers::Sequential> network, const data::Dataset& dataset,
        std::optional<TrainSplit> parts, RunDirectory run_directory, const Stream& on,
        std::uint64_t device_data_limit, distributed::Communicator& together);

  TrainEnd run(const TrainObserver& observer, const std::atomic<bool>& stop,
               std::optional<int> stop_after_epoch);
  TrainEnd train(const TrainObserver& observer, const std::atomic<bool>& stop,
                 std::optional<int> stop_after_epoch);
  bool train_epoch(const TrainObserver& observer, const std::atomic<bool>& stop);
  void finish_epoch(const TrainObserver& observer, const std::atomic<bool>& stop);
  void commit(Checkpoint& what);

  void launch(std::int64_t count);
  void read_weights();
  void check_totals(const char* what, double loss);
  [[noreturn]] void throw_diverged(const std::string& what);

  const TrainConfig& config() const { return checkpoint.state.config; }
  std::int64_t steps_per_epoch() const { return options.order.steps; }
  int epochs_done() const { return static_cast<int>(checkpoint.state.history.size()); }

  Stream stream;
  distributed::Communicator& ranks;
  RunDirectory directory;
  ModelInfo info;  // of the data set; info_after() fills in the rest
  std::unique_ptr<layers::Sequential> net;
  Checkpoint checkpoint;  // its weights and states are those last read from the device
  std::optional<Checkpoint> uncommitted;  // the end of an epoch that is not in the directory yet
  static constexpr double kCommitSeconds = 0.25;  // that a kill may cost, or an epoch if longer
  Timer since_commit;
  SessionWatch session;
  std::function<void()> committed;  // the observer's
  std::vector<std::string> taken;   // of the model that a new run begins from
  StepOptions options;
  std::vector<float> lr;
  std::optional<TrainSplit> split;  // kept where its images are streamed
  data::ImageSet few_test_images;   // where there is a limit_test
  std::unique_ptr<TrainMemory> memory;
  std::unique_ptr<TrainStep> full_step, tail_step;      // null when an epoch has no such batch
  std::optional<CalibrationImages> calibration_images;  // where images are held out
  std::optional<SharedEvaluator> held_out, hard, test;
  bool has_validation = false;     // and not only images for the calibration
  std::int64_t sync_interval = 1;  // steps queued between two looks at the totals
};

Trainer::State::State(Checkpoint start, std::unique_ptr<layers::Sequential> network,
                      const data::Dataset& dataset, std::optional<TrainSplit> parts,
                      RunDirectory run_directory, const Stream& on, std::uint64_t device_data_limit,
                      distributed::Communicator& together)
    : stream(on),
      ranks(together),
      directory(std::move(run_directory)),
      info(info_of(dataset)),
      net(std::move(network)),
      checkpoint(std::move(start)),
      split(std::move(parts)) {
  const data::ImageSet& train = split ? split->train : dataset.train;
  const std::int64_t images = split ? train.count : images_used(dataset, config());
  const std::int64_t batch = config().batch_size;
  options.order = {images, divide_up(images, batch), batch, true, config().seed};
  if (config().limit_test) keep_first(few_test_images = dataset.test, config().limit_test);
  const data::ImageSet& test_images = few_test_images.count > 0 ? few_test_images : dataset.test;
  const std::int64_t all = images + test_images.count + (split ? split->validation.count : 0);
  const bool streams = streams_images(static_cast<std::uint64_t>(all * train.pixels()),
                                      device_data_limit, stream.device());
  if (streams) options.order.staged_steps = StreamedImages::kSlots;
  static_cast<TrainConfig&>(options) = config();
  adopt_normalisation(info, config());
  options.normalization = normalization_of(info);
  check_position(checkpoint.state, images, "the run");
  lr = tabulate(config().schedule, config().epochs, steps_per_epoch());

  {
    const TimedScope timed("copy the data to the device");
    memory = std::make_unique<TrainMemory>(*net, train, options.order, lr, *config().optimizer,
                                           config().ema_decay > 0, stream);
    memory->weights.frozen = frozen_layers(*net, config().freeze);
    if (!ranks.is_attached()) ranks.attach(stream);
    memory->write(checkpoint, ranks.is_first(), stream);  // a step is run before it is recorded
  }
  {
    const TimedScope timed("plan and record a step");
    if (images >= batch) {
      full_step = make_train_step(*net, *memory, options, batch, ranks, stream);
    }
    if (const std::int64_t tail = images % batch; tail > 0) {
      tail_step = make_train_step(*net, *memory, options, tail, ranks, stream);
    }
  }
  const TimedScope timed("plan evaluation");
  const auto prepare = [&](std::optional<SharedEvaluator>& evaluator, const data::ImageSet& set,
                           bool keeps_logits) {
    evaluator.emplace(ranks, *net, memory->evaluated(), set, options.normalization,
                      config().kernels, config().network.classes, stream, streams, keeps_logits);
  };
  has_validation = dataset.validation.count > 0 || config().validation_split > 0;
  if (split && split->validation.count > 0) {
    prepare(held_out, split->validation, true);
    calibration_images.emplace(split->validation, dataset.strangers.count > 0, config().seed);
    if (calibration_images->hard()) prepare(hard, *calibration_images->hard(), true);
  }
  prepare(test, test_images, false);
  memory->write(checkpoint, ranks.is_first(), stream);
  if (!streams) split.reset();
}

TrainEnd Trainer::State::run(const TrainObserver& observer, const std::atomic<bool>& stop,
                             std::optional<int> stop_after_epoch) {
  committed = observer.committed;
  try {
    const TrainEnd end = train(observer, stop, stop_after_epoch);
    if (uncommitted) commit(*uncommitted);
    return end;
  } catch (const std::exception& first) {
    if (!uncommitted) throw;
    try {
      commit(*uncommitted);
    } catch (const std::exception& second) {
      // What ended the run comes first, and decides.
      const auto* error = dynamic_cast<const Error*>(&first);
      const bool no_memory = dynamic_cast<const std::bad_alloc*>(&first) != nullptr;
      throw Error(error != nullptr ? error->kind()
                  : no_memory      ? ErrorKind::device
                                   : ErrorKind::check_failed,
                  str(no_memory ? "out of memory" : first.what(), "; and epoch ",
                      uncommitted->state.history.size(), " could not be saved: ", second.what()));
    }
    throw;
  }
}

TrainEnd Trainer::State::train(const TrainObserver& observer, const std::atomic<bool>& stop,
                               std::optional<int> stop_after_epoch) {
  while (epochs_done() < config().epochs) {
    if (ranks.any(stop) || epochs_done() >= stop_after_epoch.value_or(config().epochs)) {
      return TrainEnd::interrupted;
    }
    bool is_whole = false;
    try {
      is_whole = train_epoch(observer, stop);
      if (is_whole) finish_epoch(observer, stop);
    } catch (const Stopped&) {  // in an evaluation, or in a step on host-cuda
      is_whole = false;
      memory->write(checkpoint, ranks.is_first(), stream);
    }
    if (!is_whole) {
      read_weights();
      commit(checkpoint);
      return TrainEnd::interrupted;
    }
    if (observer.epoch_done) observer.epoch_done(checkpoint.state.history.back());
  }
  return TrainEnd::finished;
}

// Queues the next `count` steps, which lie in one epoch. When they are given up, the checkpoint is
// that of before.
void Trainer::State::launch(std::int64_t count) {
  if (built_for_host_cuda() && stream.device().is_cuda()) memory->read(checkpoint, stream);
  const std::int64_t first = checkpoint.state.step;
  const bool tail = tail_step && (first + count) % steps_per_epoch() == 0;
  if (count > tail) full_step->launch(count - tail);
  if (tail) tail_step->launch(1);
  checkpoint.state.step += count;
}

// Trains to the end of the epoch, or until `stop`: then returns false between two steps.
bool Trainer::State::train_epoch(const TrainObserver& observer, const std::atomic<bool>& stop) {
  const TimedScope timed("train");
  RunState& state = checkpoint.state;
  const std::int64_t end = (epochs_done() + 1) * steps_per_epoch();
  const double seconds_before = state.partial_seconds;
  const Timer epoch;
  while (state.step < end) {
    // The device is behind the host by at most this many steps: then the host looks at the totals.
    const std::int64_t count = std::min(sync_interval, end - state.step);
    const Timer since_sync;
    launch(count);
    const kernels::MetricTotals totals = memory->totals.read(stream);
    const std::int64_t next = batches_until_look(sync_interval, count, since_sync.seconds());
    const Progress all = agree(ranks, {totals, stop, next});
    sync_interval = all.sync_interval;
    state.totals = all.totals;
    state.partial_seconds = seconds_before + epoch.seconds();
    check_totals("the loss", state.totals.loss_sum);
    const std::int64_t logged = state.log.empty() ? 0 : state.log.back().step;
    if (state.step == end || state.step - logged >= config().log_every) {
      state.log.push_back({state.step, lr[static_cast<std::size_t>(state.step - 1)], state.totals});
    }
    if (observer.progress) {
      observer.progress(epochs_done() + 1, state.totals.rows, options.order.count);
    }
    if (all.stop && state.step < end) return false;
  }
  return true;
}

// Throws Stopped, with the steps of the epoch in the checkpoint, when its evaluation is given up.
void Trainer::State::finish_epoch(const TrainObserver& observer, const std::atomic<bool>& stop) {
  const TimedScope timed("end an epoch");
  RunState& state = checkpoint.state;
  read_weights();
  const EvaluationWatch watch{&stop, observer.evaluating};
  EpochRecord record;
  record.epoch = epochs_done() + 1;
  record.train = metrics_of(state.totals);
  record.seconds = state.partial_seconds;
  record.lr = lr[static_cast<std::size_t>(state.step - 1)];
  if (held_out) {
    const Metrics metrics = held_out->run(stream, watch);
    check_totals("the validation loss", metrics.loss);
    if (has_validation) record.validation = metrics;
    if (hard) hard->run(stream, watch);
    record.calibration = calibration_images->fit(
        held_out->logits(stream), hard ? hard->logits(stream) : std::vector<float>{});
  }
  record.test = test->run(stream, watch);
  check_totals("the test loss", record.test.loss);
  state.history.push_back(record);
  state.totals = {};
  state.partial_seconds = 0;
  memory->totals.write(state.totals, stream);
  if (best_epoch(state.history) == record.epoch) checkpoint.best = checkpoint.evaluated();
  const bool due = epochs_done() == config().epochs || since_commit.seconds() >= kCommitSeconds;
  if (due) {
    commit(checkpoint);
  } else if (directory.writes()) {
    uncommitted = checkpoint;
  }
}

void Trainer::State::commit(Checkpoint& what) {
  const TimedScope timed("write a checkpoint");
  session.tell(what.state);
  directory.commit(what, info);
  uncommitted.reset();
  since_commit.restart();
  if (committed && directory.writes()) committed();
}

// Fetches weights and states, and refuses to go on with what must not be saved.
void Trainer::State::read_weights() {
  average_buffers(ranks, *memory, stream);
  memory->read(checkpoint, stream);
  const bool finite =
      all_finite(checkpoint.weights.parameters) && all_finite(checkpoint.weights.buffers) &&
      std::ranges::all_of(checkpoint.states, all_finite) &&
      all_finite(checkpoint.average.parameters) && all_finite(checkpoint.average.buffers);
  if (!finite) throw_diverged("a weight is not finite");
  require_same_weights(ranks, *net, checkpoint);
}

void Trainer::State::check_totals(const char* what, double loss) {
  if (!std::isfinite(loss))
    throw_diverged(str(what, std::isnan(loss) ? " is NaN" : " is infinite"));
}

void Trainer::State::throw_diverged(const std::string& what) {
  const std::int64_t step = checkpoint.state.step;
  const bool tail = tail_step && (step + 1) % steps_per_epoch() == 0;
  const std::int64_t batch = config().batch_size;
  const layers::Layer* broken = first_broken_layer(
      *net, *memory, options, tail ? options.order.count % batch : batch, ranks, stream);
  throw Error(ErrorKind::check_failed,
              str("training diverged: ", what, " in epoch ", (step - 1) / steps_per_epoch() + 1,
                  ", by step ", step, " of the run; ",
                  broken != nullptr ? str("the first output that is not finite is that of layer ",
                                          broken->name(), ", ", broken->describe())
                                    : std::string("the output of every layer is finite, the loss "
                                                  "is not"),
                  "; the learning rate was ", lr[static_cast<std::size_t>(step - 1)],
                  directory.writes() ? "; the last good checkpoint is kept" : ""));
}

Trainer::Trainer(const TrainConfig& config, const data::Dataset& dataset,
                 const std::filesystem::path& run_dir, const Stream& stream,
                 std::uint64_t device_data_limit, distributed::Communicator& ranks,
                 std::optional<PreparedData> prepared) {
  NewRun run = check_new_run(config, dataset, std::move(prepared));
  Checkpoint start = fresh_checkpoint(config, run.prepared.fingerprint, *run.net);
  const std::vector<std::string> taken = start_from_model(start, *run.net, dataset.class_names);
  require_same_run(ranks, start.state, stream.device());
  RunDirectory directory;
  if (ranks.is_first()) directory = RunDirectory::create(run_dir);
  state_ = std::make_unique<State>(std::move(start), std::move(run.net), dataset,
                                   std::move(run.prepared.split), std::move(directory), stream,
                                   device_data_limit, ranks);
  state_->taken = taken;
  state_->commit(state_->checkpoint);
}

Trainer Trainer::resume(const std::filesystem::path& run_dir, const data::Dataset& dataset,
                        std::optional<int> epochs, const Stream& stream,
                        std::uint64_t device_data_limit, distributed::Communicator& ranks) {
  RunDirectory directory = ranks.is_first() ? RunDirectory::open(run_dir) : RunDirectory();
  const SafeTensors content = read_checkpoint(ranks, directory);
  const std::string where = directory.checkpoint_path().string();
  auto net = make_network(run_state_of(content, where).config.network);
  Checkpoint start = check_resume(content, *net, where, run_dir, dataset, epochs);
  require_same_run(ranks, start.state, stream.device());
  if (ranks.is_first()) directory.folder().require_free();
  std::optional<TrainSplit> split = split_of(dataset, start.state.config);
  auto state = std::make_unique<State>(std::move(start), std::move(net), dataset, std::move(split),
                                       std::move(directory), stream, device_data_limit, ranks);
  if (ranks.is_first()) state->directory.folder().lock();
  state->commit(state->checkpoint);
  return Trainer(std::move(state));
}

TrainConfig Trainer::config_of(const std::filesystem::path& run_dir,
                               distributed::Communicator& ranks) {
  const RunDirectory directory = ranks.is_first() ? RunDirectory::open(run_dir) : RunDirectory();
  const SafeTensors content = read_checkpoint(ranks, directory);
  const std::string where = directory.checkpoint_path().string();
  const auto net = make_network(run_state_of(content, where).config.network);
  return checkpoint_of(content, *net, where).state.config;
}

Trainer::Trainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

TrainEnd Trainer::run(const TrainObserver& observer, const std::atomic<bool>& stop,
                      std::optional<int> stop_after_epoch) {
  return state_->run(observer, stop, stop_after_epoch);
}

void Trainer::begin(RunSession session) {
  state_->session.begin(state_->checkpoint.state, std::move(session));
}
const std::vector<RunSession>& Trainer::sessions() const {
  return state_->session.tell(state_->checkpoint.state);
}
const TrainConfig& Trainer::config() const {
  return state_->config();
}
const std::vector<std::string>& Trainer::taken() const {
  return state_->taken;
}
const std::vector<EpochRecord>& Trainer::history() const {
  return state_->checkpoint.state.history;
}
const std::vector<StepRecord>& Trainer::log() const {
  return state_->checkpoint.state.log;
}
std::int64_t Trainer::train_images() const {
  return state_->options.order.count;
}
std::int64_t Trainer::images_of_epoch_done() const {
  return state_->checkpoint.state.totals.rows;
}
std::size_t Trainer::device_bytes() const {
  return state_->stream.peak_bytes();
}
std::string_view Trainer::step() const {
  return (state_->full_step ? state_->full_step : state_->tail_step)->name();
}
bool Trainer::streams() const {
  return state_->memory->images.streamed.has_value();
}
std::optional<data::Directory> Trainer::run_directory() const {
  if (!state_->directory.writes()) return std::nullopt;
  return state_->directory.folder().directory();
}

Model Trainer::model() const {
  const RunState& run = state_->checkpoint.state;
  Checkpoint now;
  now.state.config = run.config;
  state_->memory->read(now, state_->stream);
  return {info_after(state_->info, run, state_->epochs_done(), run.totals.rows == 0),
          make_network(run.config.network), now.evaluated().parameters, now.evaluated().buffers};
}

}  // namespace weft::models
