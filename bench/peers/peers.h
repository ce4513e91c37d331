// SPDX-License-Identifier: MIT
// The yardsticks: vendors' libraries, which are linked into weft-bench and nowhere else.
#pragma once

#include <vector>

#include "bench/run.h"

namespace weft::bench {

std::vector<Peer> cublas_peers();
std::vector<Peer> cub_peers();
std::vector<Peer> cudnn_peers();
std::vector<Peer> cudnn_layer_peers();

}  // namespace weft::bench
