// SPDX-License-Identifier: MIT
#include "measure/errors.h"

#include "engine/error.h"
#include "measure/problems/conv.h"
#include "measure/problems/gemm/gemm.h"

namespace weft::measure {
namespace {

using kernels::ConvPass;

// The small ones are for a CPU, where host-cuda runs a thread at a time.
std::vector<std::pair<std::string_view, MakeWork>> problems_of(bool small) {
  const kernels::GemmDims product = small ? kernels::GemmDims{.m = 64, .n = 64, .k = 256}
                                          : kernels::GemmDims{.m = 512, .n = 512, .k = 2048};
  const kernels::ConvDims layer{.n = small ? 2 : 16,
                                .c = 32,
                                .h = small ? 10 : 28,
                                .w = small ? 10 : 28,
                                .oc = 64,
                                .kh = 3,
                                .kw = 3,
                                .pad_h = 1,
                                .pad_w = 1};
  return {{"gemm", gemm_work({.dims = product})},
          {"conv", conv_work({layer, ConvPass::forward})},
          {"conv", conv_work({layer, ConvPass::backward_data})},
          {"conv", conv_work({layer, ConvPass::backward_weights})}};
}

double error_of(Work& work, const PeerCall& call) {
  work.reset();
  call.call(0);
  if (call.finish) call.finish(0);
  work.context.stream.synchronize();
  return work.error(0);
}

}  // namespace

std::vector<ErrorRow> measure_errors(const Stream& stream, std::uint64_t seed,
                                     const std::vector<Peer>& peers,
                                     const std::function<void(const ErrorRow&)>& seen) {
  std::vector<ErrorRow> rows;
  for (const auto& problem : problems_of(stream.device().is_cpu() || built_for_host_cuda())) {
    const std::string family(problem.first);
    const std::size_t first = rows.size();
    for (const double spread : kSpreads) {
      const std::unique_ptr<Work> work =
          problem.second({.stream = stream, .seed = seed, .variant = {}, .spread = spread});
      std::size_t at = first;
      // The row of this name on this problem, which is new with the first spread.
      const auto add = [&](const Variant& variant, bool peer, const PeerCall& call) {
        if (spread == kSpreads[0]) {
          rows.push_back(
              {std::string(family), work->problem, variant.name, peer, variant.arithmetic, {}, ""});
        }
        ErrorRow& row = rows[at++];
        if (!row.error.empty()) return;
        try {
          row.errors.push_back(error_of(*work, call));
        } catch (const Error& error) {
          row.error = error.what();
        }
      };
      for (const Variant& variant : runnable_variants(family, *work)) {
        if (accuracy_of(variant.arithmetic) != Arithmetic::fp32) continue;
        add(variant, false, {[&](int set) { work->call(variant.name, set); }, {}});
      }
      for (const Peer& peer : peers) {
        if (peer.arithmetic != Arithmetic::fp32 && peer.arithmetic != Arithmetic::tf32) continue;
        const PeerCall call = peer.bind(*work);
        if (call.call) add({peer.name, {}, peer.arithmetic}, true, call);  // else it cannot do this
      }
    }
    for (std::size_t i = first; i < rows.size(); ++i) seen(rows[i]);
  }
  return rows;
}

}  // namespace weft::measure
