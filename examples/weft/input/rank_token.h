// SPDX-License-Identifier: MIT
// Where the token of a run over several processes comes from.
#pragma once

#include "distributed/run_token.h"
#include "examples/weft/input/ranks.h"

namespace weft::cli {

constexpr char kRunTokenVariable[] = "WEFT_RUN_TOKEN";

// The token of --run-token-file, or else of the variable. Throws usage when it is too short. Throws
// usage as well when there is none, others reach the rendezvous, and --no-token is not given.
distributed::RunToken token_of(const RankFlags& flags);

}  // namespace weft::cli
