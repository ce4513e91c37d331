// SPDX-License-Identifier: MIT
// weft-bench: `weft bench` with the vendors' libraries as yardsticks. `weft bench` starts it when
// it is installed beside weft, so that weft itself needs none of them.
#include <cstdio>
#include <exception>

#include "bench/peers/peers.h"
#include "engine/error.h"
#include "engine/text.h"
#include "measure/command.h"

int main(int argc, char** argv) {
  try {
    const weft::measure::BenchRequest request =
        weft::measure::parse_arguments({argv + (argc > 0 ? 1 : 0), argv + argc});
    std::vector<weft::measure::Peer> peers;
    const auto add = [&](std::vector<weft::measure::Peer> more) {
      for (weft::measure::Peer& peer : more) peers.push_back(std::move(peer));
    };
    if (request.device.is_cuda()) {
#ifdef WEFT_WITH_CUBLAS
      add(weft::measure::cublas_peers());
#endif
#ifdef WEFT_WITH_CUB
      add(weft::measure::cub_peers());
#endif
#ifdef WEFT_WITH_CUDNN
      add(weft::measure::cudnn_peers());
      add(weft::measure::cudnn_graph_peers());
      add(weft::measure::cudnn_layer_peers());
#endif
    }
    add(weft::measure::apart_peers());
    return weft::measure::run_bench(request, peers);
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "weft: error: %s\n", weft::printable(error.what()).c_str());
    return error.exit_code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft: error: unexpected: %s\n", weft::printable(error.what()).c_str());
    return 1;
  }
}
