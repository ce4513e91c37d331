// SPDX-License-Identifier: MIT
// Yardsticks that are built apart: apart.h says what they export.
#include "bench/peers/apart.h"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>

#include "bench/peers/peers.h"
#include "engine/error.h"
#include "kernels/gemm/problem.h"
#include "kernels/nbody/problem.h"
#include "kernels/softmax/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

// The rows of a library on problems of one family. `enqueue(problem's work, set)` is run once
// before it is timed: it says whether the library takes the problem, and lets it set up.
template <class Problem, class Enqueue>
Peer peer(const std::string& name, Arithmetic arithmetic, Enqueue enqueue) {
  return {name, arithmetic, [=](Work& work) -> PeerCall {
            auto* of = work_on<Problem>(work);
            if (of == nullptr || enqueue(*of, 0) == 1) return {};
            work.context.stream.synchronize();
            const Call call = [=](int set) {
              if (const int status = enqueue(*of, set); status != 0) {
                throw Error(ErrorKind::device, str(name, " failed with status ", status));
              }
            };
            return {call, {}, "built apart"};
          }};
}

template <class Function>
Function* exported(void* library, const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(library, symbol));
}

Peer peer_of(const std::string& name, decltype(weft_yardstick_gemm_bf16)* multiply) {
  const auto enqueue = [=](ProblemWork<problems::Gemm>& gemm, int set) {
    const kernels::GemmDims& d = gemm.p.dims;
    if (!gemm.p.bf16() || gemm.p.is_layer()) return 1;
    const auto at = [&](std::string_view matrix) { return gemm.array<std::uint8_t>(matrix)[set]; };
    return multiply(at("c"), at("a"), at("b"), d.m, d.n, d.k, d.transpose_a, d.transpose_b,
                    gemm.context.stream.native());
  };
  return peer<problems::Gemm>(name, Arithmetic::bf16, enqueue);
}

Peer peer_of(const std::string& name, decltype(weft_yardstick_nbody)* accelerate) {
  const auto enqueue = [=](ProblemWork<problems::Nbody>& nbody, int set) {
    return accelerate(nbody.array("accelerations")[set], nbody.array("bodies")[set], nbody.p.n,
                      nbody.p.kSoftening, nbody.context.stream.native());
  };
  return peer<problems::Nbody>(name, Arithmetic::fp32, enqueue);
}

Peer peer_of(const std::string& name, decltype(weft_yardstick_softmax)* softmax) {
  const auto enqueue = [=](ProblemWork<problems::Softmax>& rows, int set) {
    if (rows.p.backward) return 1;
    return softmax(rows.array("out")[set], rows.array("in")[set], rows.p.rows, rows.p.cols,
                   rows.context.stream.native());
  };
  return peer<problems::Softmax>(name, Arithmetic::fp32, enqueue);
}

Peer peer_of(const std::string& name, decltype(weft_yardstick_softmax_backward)* softmax) {
  const auto enqueue = [=](ProblemWork<problems::Softmax>& rows, int set) {
    if (!rows.p.backward) return 1;
    return softmax(rows.array("out")[set], rows.array("in")[set], rows.array("y")[set], rows.p.rows,
                   rows.p.cols, rows.context.stream.native());
  };
  return peer<problems::Softmax>(name, Arithmetic::fp32, enqueue);
}

}  // namespace

std::vector<Peer> apart_peers() {
  std::vector<Peer> peers;
  const char* list = std::getenv("WEFT_YARDSTICKS");
  std::istringstream files(list == nullptr ? "" : list);
  for (std::string file; std::getline(files, file, ':');) {
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded
    if (library == nullptr) throw Error(ErrorKind::usage, str("WEFT_YARDSTICKS: ", dlerror()));
    auto* name = exported<decltype(weft_yardstick_name)>(library, "weft_yardstick_name");
    if (name == nullptr) {
      throw Error(ErrorKind::usage,
                  str("WEFT_YARDSTICKS: ", file, " exports no weft_yardstick_name"));
    }
#define WEFT_ADD(function)                                              \
  if (auto* found = exported<decltype(function)>(library, #function)) { \
    peers.push_back(peer_of(name(), found));                            \
  }
    WEFT_ADD(weft_yardstick_gemm_bf16)
    WEFT_ADD(weft_yardstick_nbody)
    WEFT_ADD(weft_yardstick_softmax)
    WEFT_ADD(weft_yardstick_softmax_backward)
#undef WEFT_ADD
  }
  return peers;
}

}  // namespace weft::measure
