// SPDX-License-Identifier: MIT
// What a program was built from.
#pragma once

#include <string>

namespace weft {

struct BuildInfo {
  std::string version;      // of Weft, "0.9.0"
  std::string commit;       // "1a2b3c4d", with a + where files were changed; empty: not known
  std::string commit_date;  // "2026-11-30"

  std::string text() const;  // "0.9.0 (commit 1a2b3c4d of 2026-11-30)"
};

// A library without a program around it knows its version only.
const BuildInfo& build_info();
// What is linked last knows the commit, and says so before main().
bool set_commit(std::string commit, std::string date);

}  // namespace weft
