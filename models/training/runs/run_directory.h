// SPDX-License-Identifier: MIT
// The folder of a run, of training or of n-body, and the order in which the files of a training are
// committed.
//
// optimizer.safetensors comes first and decides; the others are views of it for people and for
// other programs, and a resume writes them again.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/files/file_io.h"
#include "models/model.h"
#include "models/training/runs/checkpoint.h"
#include "models/training/runs/run_lock.h"

namespace weft::models {

// A folder that a run is written to, held open. Its path may lead through links. In it no link is
// followed, and only regular files of the user's own are read and replaced: it may come from a
// stranger.
class RunFolder {
 public:
  // Creates the folder if need be, and locks it. Error{usage} when another process writes there, or
  // when it holds a run, told by the file `checkpoint`, or other files.
  static RunFolder create(const std::filesystem::path& path, const std::string& checkpoint);
  // Throws what create() would throw, and writes nothing.
  static void check_new(const std::filesystem::path& path, const std::string& checkpoint);
  // The folder of a run that is to be resumed, not locked yet. Error{data} when it belongs to
  // another user, when it has no `checkpoint`, or when something else has the name of one of the
  // `files` that the run will write. Nothing when there is no such folder.
  static std::optional<RunFolder> open(const std::filesystem::path& path,
                                       const std::string& checkpoint,
                                       std::span<const std::string_view> files);

  const data::Directory& directory() const { return directory_; }
  // The checkpoint of a run that was opened.
  const data::InputFile& checkpoint() const { return *checkpoint_; }
  // Throws what lock() would throw, and writes nothing.
  void require_free() const { RunLock::require_free(directory_); }
  // Locks the folder for as long as this object lives, once its checkpoint is known to be good.
  // Error{usage} when another process writes there, or has replaced the checkpoint since open().
  void lock();

 private:
  explicit RunFolder(data::Directory directory) : directory_(std::move(directory)) {}

  data::Directory directory_;
  std::optional<data::InputFile> checkpoint_;
  std::optional<RunLock> lock_;
};

// What a finished training has in its folder beside the files of commit().
inline constexpr std::string_view kCurvesFile = "curves.svg";
inline constexpr std::string_view kReportFile = "report.html";
inline constexpr std::string_view kSamplesFolder = "samples";

class RunDirectory {
 public:
  // An empty path: nothing is ever written.
  RunDirectory() = default;
  // As RunFolder::create() and check_new().
  static RunDirectory create(const std::filesystem::path& path);
  static void check_new(const std::filesystem::path& path);
  // The folder of an existing run, as RunFolder::open(); Error{data} when it holds none.
  static RunDirectory open(const std::filesystem::path& path);

  bool writes() const { return folder_.has_value(); }
  const RunFolder& folder() const { return *folder_; }
  RunFolder& folder() { return *folder_; }
  std::filesystem::path checkpoint_path() const;
  SafeTensors read() const { return read_safetensors(folder_->checkpoint()); }

  // Replaces all files. `info` describes the data set; the network comes from the config.
  void commit(const Checkpoint& checkpoint, const ModelInfo& info) const;

 private:
  std::optional<RunFolder> folder_;
};

// What a model file says about itself after `epochs` whole epochs of this run; `is_exact` is false
// for weights from within the next epoch, whose accuracy and calibration are not known.
ModelInfo info_after(ModelInfo info, const RunState& state, int epochs, bool is_exact);

}  // namespace weft::models
