// SPDX-License-Identifier: MIT
#include "models/training/runs/run_directory.h"

#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "data/files/system_call.h"
#include "engine/text.h"
#include "models/files/json_fields.h"

namespace weft::models {

namespace fs = std::filesystem;

namespace {

SafeTensors model_file(const ModelInfo& info, const HostWeights& weights) {
  return model_content({info, make_network(info.network), weights.parameters, weights.buffers});
}

std::string metrics_lines(const RunState& state) {
  std::string lines;
  for (const EpochRecord& record : state.history) lines += to_json(record) + "\n";
  return lines;
}

// The training loss every few steps; in the last row of an epoch also its evaluation.
std::string metrics_csv(const RunState& state) {
  std::string csv =
      "step,epoch,lr,train_loss,train_accuracy,validation_loss,validation_accuracy,test_loss,"
      "test_accuracy\n";
  const std::vector<StepMetrics> rows = step_metrics(state.log);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StepMetrics& row = rows[i];
    csv += fmt::format("{},{},{},{},{}", row.step, row.epoch, static_cast<float>(row.lr),
                       row.train.loss, row.train.accuracy);
    const bool ends_epoch = i + 1 == rows.size() || rows[i + 1].epoch > row.epoch;
    const auto epoch = static_cast<std::size_t>(row.epoch);
    std::string evaluation = ",,,,";
    if (ends_epoch && epoch <= state.history.size()) {
      const EpochRecord& record = state.history[epoch - 1];
      evaluation = record.validation
                       ? fmt::format(",{},{}", record.validation->loss, record.validation->accuracy)
                       : ",,";
      evaluation += fmt::format(",{},{}", record.test.loss, record.test.accuracy);
    }
    csv += evaluation + "\n";
  }
  return csv;
}

// The settings, and where they were used. A --config that reads them passes over the latter.
std::string config_json(const RunState& state) {
  auto json = nlohmann::ordered_json::parse(to_json(state.config));
  json["origin"] = nlohmann::ordered_json::parse(to_json(origin_of(state)));
  return json_text(json);
}

std::string progress_json(const RunState& state) {
  const auto epochs_done = static_cast<int>(state.history.size());
  nlohmann::ordered_json json;
  json["schema_version"] = kSchemaVersion;
  json["step"] = state.step;
  json["epochs_done"] = epochs_done;
  json["epochs"] = state.config.epochs;
  json["finished"] = epochs_done == state.config.epochs;
  json["images_of_next_epoch_done"] = state.totals.rows;
  if (const int best = best_epoch(state.history); best > 0) json["best_epoch"] = best;
  json["data"] = origin_of(state).data;
  json["sessions"] = nlohmann::ordered_json::array();
  for (const RunSession& session : state.sessions) {
    json["sessions"].push_back(nlohmann::ordered_json::parse(to_json(session)));
  }
  return json_text(json, 2) + "\n";
}

}  // namespace

namespace {

const std::string kCheckpointFile = "optimizer.safetensors";
constexpr std::string_view kConfigFile = "config.json", kStateFile = "state.json";
constexpr std::string_view kMetricsFile = "metrics.jsonl", kTableFile = "metrics.csv";
constexpr std::string_view kModelFile = "model.safetensors", kBestFile = "best.safetensors";
constexpr std::string_view kFiles[] = {kConfigFile, kStateFile, kMetricsFile, kTableFile,
                                       kModelFile,  kBestFile,  kCurvesFile,  kReportFile};

void check_created(const fs::path& path, const std::error_code& code) {
  if (!code) return;
  throw Error(ErrorKind::data,
              str("could not create the folder ", path.string(), ": ", code.message()));
}

void require_empty(const data::Directory& directory, const std::string& checkpoint) {
  const std::string folder = directory.path().string();
  if (directory.status(checkpoint)) {
    throw Error(ErrorKind::usage,
                str(folder, " already holds a run: resume it (--resume), or choose another ",
                    "folder (--out)"));
  }
  for (const std::string& name : directory.names()) {
    if (data::is_temporary_name(name) || name == RunLock::kFileName) continue;
    throw Error(ErrorKind::usage,
                str("expected an empty folder for the run, found ", name, " in ", folder));
  }
}

}  // namespace

void RunFolder::check_new(const fs::path& path, const std::string& checkpoint) {
  std::error_code code;
  if (data::is_folder(path, code)) {
    const data::Directory directory(path);
    RunLock::require_free(directory);
    require_empty(directory, checkpoint);
  }
  check_created(path, code);
}

RunFolder RunFolder::create(const fs::path& path, const std::string& checkpoint) {
  check_new(path, checkpoint);
  std::error_code code;
  data::create_folder(path, code);
  check_created(path, code);
  RunFolder folder((data::Directory(path)));
  folder.lock_.emplace(folder.directory_);
  require_empty(folder.directory_, checkpoint);
  return folder;
}

std::optional<RunFolder> RunFolder::open(const fs::path& path, const std::string& checkpoint,
                                         std::span<const std::string_view> files) {
  std::error_code code;
  std::optional<data::Directory> directory = data::Directory::open(path, code);
  const bool is_missing = code.value() == ENOENT || code.value() == ENOTDIR;
  if (code && !is_missing) data::fail_to("open the folder", path, code.value());
  if (!directory || !directory->status(checkpoint)) return std::nullopt;
  directory->require_own();
  directory->require_own_file(std::string(RunLock::kFileName));
  for (const std::string_view file : files) directory->require_own_file(std::string(file));
  RunFolder folder(std::move(*directory));
  folder.checkpoint_.emplace(folder.directory_, checkpoint);
  return folder;
}

void RunFolder::lock() {
  RunLock lock(directory_);
  if (!checkpoint_->is_current(directory_, checkpoint_->path().filename().string())) {
    throw Error(ErrorKind::usage,
                str(directory_.path().string(), ": another process has gone on with this run ",
                    "meanwhile; start again to go on from there"));
  }
  lock_ = std::move(lock);
}

fs::path RunDirectory::checkpoint_path() const {
  return (folder_ ? folder_->directory().path() : fs::path()) / kCheckpointFile;
}

void RunDirectory::check_new(const fs::path& path) {
  if (!path.empty()) RunFolder::check_new(path, kCheckpointFile);
}

RunDirectory RunDirectory::create(const fs::path& path) {
  RunDirectory directory;
  if (!path.empty()) directory.folder_ = RunFolder::create(path, kCheckpointFile);
  return directory;
}

RunDirectory RunDirectory::open(const fs::path& path) {
  RunDirectory directory;
  if (!path.empty()) directory.folder_ = RunFolder::open(path, kCheckpointFile, kFiles);
  if (!directory.writes()) {
    throw Error(ErrorKind::data,
                str(path.string(), ": holds no run to resume (no ", kCheckpointFile, ")"));
  }
  const data::Directory& folder = directory.folder().directory();
  const std::string samples(kSamplesFolder);
  if (folder.status(samples)) {
    const data::Directory pictures = folder.folder(samples);
    for (const std::string& name : pictures.names()) {
      if (name.ends_with(".png")) pictures.require_own_file(name);
    }
  }
  return directory;
}

void RunDirectory::commit(const Checkpoint& checkpoint, const ModelInfo& info) const {
  if (!writes()) return;
  const RunState& state = checkpoint.state;
  const auto net = make_network(state.config.network);
  std::vector<data::NewFile> files;
  const auto add = [&](std::string_view name, std::vector<std::byte> bytes) {
    files.push_back({folder_->directory() / name, std::move(bytes)});
  };
  add(kCheckpointFile, safetensors_bytes(checkpoint_content(checkpoint, *net)));
  add(kConfigFile, data::bytes_of(config_json(state) + "\n"));
  add(kMetricsFile, data::bytes_of(metrics_lines(state)));
  add(kTableFile, data::bytes_of(metrics_csv(state)));
  if (state.step > 0) {
    const auto epochs = static_cast<int>(state.history.size());
    const ModelInfo now = info_after(info, state, epochs, state.totals.rows == 0);
    add(kModelFile, safetensors_bytes(model_file(now, checkpoint.evaluated())));
  }
  if (const int best = best_epoch(state.history); best > 0) {
    add(kBestFile,
        safetensors_bytes(model_file(info_after(info, state, best, true), checkpoint.best)));
  }
  add(kStateFile, data::bytes_of(progress_json(state)));
  data::write_files_atomically(files);
}

ModelInfo info_after(ModelInfo info, const RunState& state, int epochs, bool is_exact) {
  info.network = state.config.network;
  info.dataset = state.config.dataset;
  info.epochs = epochs;
  info.origin = origin_of(state);
  if (epochs > 0 && is_exact) {
    const EpochRecord& record = state.history[static_cast<std::size_t>(epochs - 1)];
    info.test_accuracy = record.test.accuracy;
    info.test_images = record.test.images;
    info.calibration = record.calibration;
  }
  return info;
}

}  // namespace weft::models
