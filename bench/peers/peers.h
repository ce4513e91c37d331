// SPDX-License-Identifier: MIT
// The yardsticks: vendors' libraries, which are linked into weft-bench and nowhere else, and those
// that are built apart.
#pragma once

#include <vector>

#include "measure/run.h"

namespace weft::measure {

std::vector<Peer> cublas_peers();
std::vector<Peer> cub_peers();
std::vector<Peer> cudnn_peers();
std::vector<Peer> cudnn_graph_peers();
std::vector<Peer> cudnn_layer_peers();
// They come from the libraries that WEFT_YARDSTICKS names. Error{usage} for one that cannot be
// loaded.
std::vector<Peer> apart_peers();

}  // namespace weft::measure
