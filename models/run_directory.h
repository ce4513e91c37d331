// SPDX-License-Identifier: MIT
// The folder of a training run, and the order in which its files are committed.
//
// optimizer.safetensors comes first and decides; the others are views of it for people and for
// other programs, and a resume writes them again.
#pragma once

#include <filesystem>
#include <string>

#include "models/checkpoint.h"
#include "models/model.h"
#include "models/run_lock.h"

namespace weft::models {

// A folder for a new run, created if need be, and its lock. Error{usage} when another process
// writes there, or when it holds a run, told by the file `checkpoint`, or other files.
RunLock create_run_folder(const std::filesystem::path& path, const std::string& checkpoint);

class RunDirectory {
 public:
  // An empty path: nothing is ever written.
  RunDirectory() = default;
  // As create_run_folder().
  static RunDirectory create(const std::filesystem::path& path);
  // Throws what create() would throw, and writes nothing.
  static void check_new(const std::filesystem::path& path);
  // The folder of an existing run; Error{data} when it holds none.
  static RunDirectory open(const std::filesystem::path& path);
  // The same, locked for as long as this object lives; Error{usage} when another process writes
  // there. create() locks as well.
  static RunDirectory open_to_write(const std::filesystem::path& path);

  bool writes() const { return !path_.empty(); }
  std::filesystem::path checkpoint_path() const { return path_ / "optimizer.safetensors"; }
  SafeTensors read() const { return read_safetensors(checkpoint_path()); }

  // Replaces all files. `info` describes the data set; the network comes from the config.
  void commit(const Checkpoint& checkpoint, const ModelInfo& info) const;

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  RunLock lock_;
};

// What a model file says about itself after `epochs` whole epochs of this run; `is_exact` is false
// for weights from within the next epoch, whose accuracy and calibration are not known.
ModelInfo info_after(ModelInfo info, const RunState& state, int epochs, bool is_exact);

}  // namespace weft::models
