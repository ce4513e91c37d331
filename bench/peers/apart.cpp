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

// Runs `enqueue(set)` once, which says whether the library takes the problem and lets it set up.
PeerCall bind_apart(const std::string& name, const Stream& stream,
                    const std::function<int(int)>& enqueue) {
  const Call call = [=](int set) {
    if (const int status = enqueue(set); status != 0) {
      throw Error(ErrorKind::device, str(name, " failed with status ", status));
    }
  };
  if (enqueue(0) == 1) return {};
  stream.synchronize();
  return {call, {}, "built apart"};
}

template <class Function>
Function* exported(void* library, const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(library, symbol));
}

void add_gemm(std::vector<Peer>& peers, const std::string& name,
              decltype(weft_yardstick_gemm_bf16)* multiply) {
  peers.push_back({name, Arithmetic::bf16, [=](Work& work) -> PeerCall {
                     auto* gemm = work_on<problems::Gemm>(work);
                     if (gemm == nullptr || !gemm->p.bf16() || gemm->p.is_layer()) return {};
                     const kernels::GemmDims d = gemm->p.dims;
                     const Stream stream = work.context.stream;
                     return bind_apart(name, stream, [=](int set) {
                       const auto at = [&](std::string_view matrix) {
                         return gemm->array<std::uint8_t>(matrix)[set];
                       };
                       return multiply(at("c"), at("a"), at("b"), d.m, d.n, d.k, d.transpose_a,
                                       d.transpose_b, stream.native());
                     });
                   }});
}

void add_nbody(std::vector<Peer>& peers, const std::string& name,
               decltype(weft_yardstick_nbody)* accelerate) {
  peers.push_back({name, Arithmetic::fp32, [=](Work& work) -> PeerCall {
                     auto* nbody = work_on<problems::Nbody>(work);
                     if (nbody == nullptr) return {};
                     const Stream stream = work.context.stream;
                     return bind_apart(name, stream, [=](int set) {
                       return accelerate(nbody->array("accelerations")[set],
                                         nbody->array("bodies")[set], nbody->p.n,
                                         problems::Nbody::kSoftening, stream.native());
                     });
                   }});
}

void add_softmax(std::vector<Peer>& peers, const std::string& name,
                 decltype(weft_yardstick_softmax)* softmax) {
  peers.push_back({name, Arithmetic::fp32, [=](Work& work) -> PeerCall {
                     auto* rows = work_on<problems::Softmax>(work);
                     if (rows == nullptr || rows->p.backward) return {};
                     const Stream stream = work.context.stream;
                     return bind_apart(name, stream, [=](int set) {
                       return softmax(rows->array("out")[set], rows->array("in")[set], rows->p.rows,
                                      rows->p.cols, stream.native());
                     });
                   }});
}

void add_softmax_backward(std::vector<Peer>& peers, const std::string& name,
                          decltype(weft_yardstick_softmax_backward)* softmax) {
  peers.push_back({name, Arithmetic::fp32, [=](Work& work) -> PeerCall {
                     auto* rows = work_on<problems::Softmax>(work);
                     if (rows == nullptr || !rows->p.backward) return {};
                     const Stream stream = work.context.stream;
                     return bind_apart(name, stream, [=](int set) {
                       return softmax(rows->array("out")[set], rows->array("in")[set],
                                      rows->array("y")[set], rows->p.rows, rows->p.cols,
                                      stream.native());
                     });
                   }});
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
#define WEFT_ADD(function, add)                                         \
  if (auto* found = exported<decltype(function)>(library, #function)) { \
    add(peers, name(), found);                                          \
  }
    WEFT_ADD(weft_yardstick_gemm_bf16, add_gemm)
    WEFT_ADD(weft_yardstick_nbody, add_nbody)
    WEFT_ADD(weft_yardstick_softmax, add_softmax)
    WEFT_ADD(weft_yardstick_softmax_backward, add_softmax_backward)
#undef WEFT_ADD
  }
  return peers;
}

}  // namespace weft::measure
