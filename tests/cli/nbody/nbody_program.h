// SPDX-License-Identifier: MIT
// Small runs of weft nbody.
#pragma once

#include <algorithm>

#include "tests/cli/program.h"

namespace weft::test {

class Nbody : public ProgramTest {
 protected:
  // Few bodies on the CPU in folder()/name.
  Outcome small(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        "nbody", "--bodies",     "200", "--steps",  "12",  "--frames",
        "5",     "--image-size", "64",  "--device", "cpu", "--progress",
        "off",   "--samples",    "3",   "--out",    name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return weft(arguments);
  }
  Outcome go_on(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"nbody", "--resume", name, "--device", "cpu"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return weft(arguments);
  }
  std::vector<std::string> files(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder() / name)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
};

inline const std::vector<std::string> kAllFiles = {
    "animation.png",  "checkpoint.safetensors", "energy.csv",     "final.npy",     "frame_0001.png",
    "frame_0002.png", "frame_0003.png",         "frame_0004.png", "frame_0005.png"};

}  // namespace weft::test
