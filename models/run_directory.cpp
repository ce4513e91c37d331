// SPDX-License-Identifier: MIT
#include "models/run_directory.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "data/file_io.h"
#include "engine/text.h"

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
  return json_text(json, 2) + "\n";
}

}  // namespace

namespace {

void check_created(const fs::path& path, const std::error_code& code) {
  if (!code) return;
  throw Error(ErrorKind::data,
              str("could not create the folder ", path.string(), ": ", code.message()));
}

void require_empty(const fs::path& path, const std::string& checkpoint) {
  std::error_code code;
  if (fs::exists(path / checkpoint, code)) {
    throw Error(ErrorKind::usage,
                str(path.string(), " already holds a run: resume it (--resume), or choose another ",
                    "folder (--out)"));
  }
  for (fs::directory_iterator entry(path, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (data::is_temporary_name(name) || name == RunLock::kFileName) continue;
    throw Error(ErrorKind::usage,
                str("expected an empty folder for the run, found ", name, " in ", path.string()));
  }
  check_created(path, code);
}

}  // namespace

RunLock create_run_folder(const fs::path& path, const std::string& checkpoint) {
  std::error_code code;
  data::create_folder(path, code);
  check_created(path, code);
  RunLock lock(path);
  require_empty(path, checkpoint);
  return lock;
}

void RunDirectory::check_new(const fs::path& path) {
  if (path.empty()) return;
  std::error_code code;
  if (data::is_folder(path, code)) {
    RunLock::require_free(path);
    require_empty(path, RunDirectory(path).checkpoint_path().filename().string());
  }
  check_created(path, code);
}

RunDirectory RunDirectory::create(const fs::path& path) {
  if (path.empty()) return {};
  RunDirectory directory(path);
  directory.lock_ = create_run_folder(path, directory.checkpoint_path().filename().string());
  return directory;
}

RunDirectory RunDirectory::open(const fs::path& path) {
  RunDirectory directory(path);
  std::error_code code;
  if (path.empty() || !fs::exists(directory.checkpoint_path(), code)) {
    throw Error(ErrorKind::data,
                str(path.string(), ": holds no run to resume (no optimizer.safetensors",
                    code ? ": " + code.message() : "", ")"));
  }
  return directory;
}

RunDirectory RunDirectory::open_to_write(const fs::path& path) {
  RunDirectory directory = open(path);
  directory.lock_ = RunLock(path);
  return directory;
}

void RunDirectory::commit(const Checkpoint& checkpoint, const ModelInfo& info) const {
  if (!writes()) return;
  const RunState& state = checkpoint.state;
  const auto net = make_network(state.config.network);
  std::vector<data::NewFile> files;
  files.push_back({checkpoint_path(), safetensors_bytes(checkpoint_content(checkpoint, *net))});
  files.push_back({path_ / "config.json", data::bytes_of(to_json(state.config) + "\n")});
  files.push_back({path_ / "metrics.jsonl", data::bytes_of(metrics_lines(state))});
  files.push_back({path_ / "metrics.csv", data::bytes_of(metrics_csv(state))});
  if (state.step > 0) {
    const auto epochs = static_cast<int>(state.history.size());
    const ModelInfo now = info_after(info, state, epochs, state.totals.rows == 0);
    files.push_back(
        {path_ / "model.safetensors", safetensors_bytes(model_file(now, checkpoint.evaluated()))});
  }
  if (const int best = best_epoch(state.history); best > 0) {
    files.push_back(
        {path_ / "best.safetensors",
         safetensors_bytes(model_file(info_after(info, state, best, true), checkpoint.best))});
  }
  files.push_back({path_ / "state.json", data::bytes_of(progress_json(state))});
  data::write_files_atomically(files);
}

ModelInfo info_after(ModelInfo info, const RunState& state, int epochs, bool is_exact) {
  info.network = state.config.network;
  info.dataset = state.config.dataset;
  info.epochs = epochs;
  if (epochs > 0 && is_exact) {
    const EpochRecord& record = state.history[static_cast<std::size_t>(epochs - 1)];
    info.test_accuracy = record.test.accuracy;
    info.test_images = record.test.images;
    info.calibration = record.calibration;
  }
  return info;
}

}  // namespace weft::models
