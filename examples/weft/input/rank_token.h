// SPDX-License-Identifier: MIT
// Where the token of a run over several processes comes from.
#pragma once

#include "distributed/run_token.h"
#include "examples/weft/input/ranks.h"

namespace weft::cli {

constexpr char kRunTokenVariable[] = "WEFT_RUN_TOKEN";

// That of --run-token-file, else of the variable. Throws usage when it is too short, and when there
// is none, no --no-token, and others reach the rendezvous.
distributed::RunToken token_of(const RankFlags& flags);

}  // namespace weft::cli
