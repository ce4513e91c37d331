// SPDX-License-Identifier: MIT
// Who trained a run: each command that worked on it, the one that began it and those that went on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device.h"

namespace weft::models {

struct RunSession {
  std::string command;                       // as a shell takes it, behind the variables it heeds
  std::string version, commit, commit_date;  // data/versions/build_info.h
  std::string host;                          // the name of the computer
  std::string device;                        // "cuda:0 (NVIDIA H200)"
  int threads = 0;                           // of the CPU
  std::string started;                       // UTC: "2026-11-30T09:41:00Z"
  double seconds = 0;                        // from then to its last checkpoint
  double training_seconds = 0;               // of these, in steps
  std::int64_t images = 0;                   // that the steps were given

  double images_per_second() const;  // while it trained; 0 before the first step
};

// A session of this program that begins now. `words` are those of its command line, without the
// program's own name.
RunSession begin_session(const std::string& program, const std::vector<std::string>& words,
                         Device device, int threads);

}  // namespace weft::models
