// SPDX-License-Identifier: MIT
// weft-bench: `weft bench` with the vendors' libraries as yardsticks. `weft bench` starts it when
// it is installed beside weft, so that weft itself needs none of them.
#include <cstdio>
#include <exception>

#include "bench/command.h"
#include "bench/peers/peers.h"
#include "engine/error.h"

int main(int argc, char** argv) {
  try {
    const weft::bench::BenchRequest request =
        weft::bench::parse_arguments({argv + (argc > 0 ? 1 : 0), argv + argc});
    std::vector<weft::bench::Peer> peers;
    [[maybe_unused]] const auto add = [&](std::vector<weft::bench::Peer> more) {
      for (weft::bench::Peer& peer : more) peers.push_back(std::move(peer));
    };
    if (request.device.is_cuda()) {
#ifdef WEFT_WITH_CUBLAS
      add(weft::bench::cublas_peers());
#endif
#ifdef WEFT_WITH_CUB
      add(weft::bench::cub_peers());
#endif
#ifdef WEFT_WITH_CUDNN
      add(weft::bench::cudnn_peers());
      add(weft::bench::cudnn_layer_peers());
#endif
    }
    return weft::bench::run_bench(request, peers);
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "weft: error: %s\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft: error: unexpected: %s\n", error.what());
    return 1;
  }
}
