// SPDX-License-Identifier: MIT
#include "data/versions/build_info.h"

#include <utility>

#include "engine/error.h"

namespace weft {
namespace {

BuildInfo& known() {
  static BuildInfo info{WEFT_VERSION, "", ""};
  return info;
}

}  // namespace

std::string BuildInfo::text() const {
  return commit.empty() ? version : str(version, " (commit ", commit, " of ", commit_date, ")");
}

const BuildInfo& build_info() {
  return known();
}

bool set_commit(std::string commit, std::string date) {
  known().commit = std::move(commit);
  known().commit_date = std::move(date);
  return true;
}

}  // namespace weft
