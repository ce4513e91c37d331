// SPDX-License-Identifier: MIT
// cuBLAS at the matrix products: fp32, and tf32 and bfloat16 on the tensor cores.
//
// Each has two rows. "cuBLAS tf32" is what a plain call runs: cublasGemmEx, or where a layer adds a
// bias, which cublasLt does in its epilogue, the algorithm that cublasLt puts first. "cuBLAS tf32,
// best" is the fastest of the algorithms that cublasLt recommends for the problem, each timed on
// it. Masks and row sums are passes of their own, which are not timed.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <algorithm>
#include <cmath>

#include "bench/peers/peers.h"
#include "engine/error.h"
#include "kernels/activation/activation.h"
#include "kernels/gemm/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw Error(ErrorKind::device,
                str("cuBLAS could not ", what, ": ", cublasGetStatusString(status)));
  }
}

using problems::LayerPass;
using GemmWork = ProblemWork<problems::Gemm>;

void* matrix(GemmWork& work, std::string_view name, int set) {
  return work.array<std::uint8_t>(name)[set];
}

// Does what a layer's backward pass asks for besides the product, for a library that has not.
void finish_layer(GemmWork& work, int set) {
  const kernels::GemmDims& d = work.p.dims;
  const Stream& stream = work.context.stream;
  constexpr auto kOverwrite = kernels::GradientMode::overwrite;
  if (work.p.pass == LayerPass::data) {
    auto* result = static_cast<float*>(matrix(work, "c", set));
    kernels::activation_backward(result, result, work.array("mask")[set], d.m * d.n,
                                 kernels::Activation::relu, kOverwrite, stream);
  } else if (work.p.pass == LayerPass::weights) {
    kernels::bias_backward(work.array("row_sums")[set],
                           static_cast<const float*>(matrix(work, "a", set)), d.k, d.m, 1,
                           kOverwrite, stream);
  }
}

struct Handle {
  explicit Handle(const Stream& stream)
      : workspace(Shape{std::int64_t{64} << 20}, DType::u8, stream) {
    check(cublasCreate(&native), "start");
    check(cublasSetStream(native, stream.native()), "take the stream");
    // A workspace of its own, so that calls can be captured in a graph.
    check(cublasSetWorkspace(native, workspace.raw(), workspace.bytes()), "take a workspace");
  }
  ~Handle() { static_cast<void>(cublasDestroy(native)); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  cublasHandle_t native = nullptr;
  Tensor workspace;
};

// One product, with bias and ReLU where the layer has them, that cublasLt has made ready.
struct LtProduct {
  LtProduct(GemmWork& work, cudaDataType_t type, cublasComputeType_t compute)
      : workspace(Shape{kWorkspace}, DType::u8, work.context.stream) {
    const kernels::GemmDims& d = work.p.dims;
    const auto u = [](std::int64_t extent) { return static_cast<std::uint64_t>(extent); };
    check(cublasLtCreate(&handle), "start");
    check(cublasLtMatmulDescCreate(&product, compute, CUDA_R_32F), "describe a product");
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
      check(cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof(value)),
            "describe a product");
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, d.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, d.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (work.p.adds_bias()) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, work.p.pass == LayerPass::forward_relu
                                             ? CUBLASLT_EPILOGUE_RELU_BIAS
                                             : CUBLASLT_EPILOGUE_BIAS);
      const float* bias = work.array("bias")[0];
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    const auto layout = [&](cublasLtMatrixLayout_t& made, std::int64_t rows, std::int64_t columns) {
      check(cublasLtMatrixLayoutCreate(&made, type, u(rows), u(columns), rows),
            "describe a matrix");
    };
    layout(a, d.transpose_b ? d.k : d.n, d.transpose_b ? d.n : d.k);
    layout(b, d.transpose_a ? d.m : d.k, d.transpose_a ? d.k : d.m);
    layout(c, d.n, d.m);
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "state preferences");
    const std::size_t bytes = kWorkspace;
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &bytes, sizeof(bytes)),
          "state preferences");
    int count = 0;
    found.resize(16);
    check(cublasLtMatmulAlgoGetHeuristic(handle, product, a, b, c, c, preference,
                                         static_cast<int>(found.size()), found.data(), &count),
          "recommend an algorithm");
    found.resize(static_cast<std::size_t>(count));
    static_cast<void>(cublasLtMatmulPreferenceDestroy(preference));
    if (found.empty()) throw Error(ErrorKind::device, "cublasLt recommends no algorithm");
  }
  ~LtProduct() {
    for (cublasLtMatrixLayout_t layout : {a, b, c}) {
      static_cast<void>(cublasLtMatrixLayoutDestroy(layout));
    }
    static_cast<void>(cublasLtMatmulDescDestroy(product));
    static_cast<void>(cublasLtDestroy(handle));
  }
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;

  void run(GemmWork& work, int set) {
    const float one = 1, zero = 0;
    check(cublasLtMatmul(handle, product, &one, matrix(work, "b", set), a, matrix(work, "a", set),
                         b, &zero, matrix(work, "c", set), c, matrix(work, "c", set), c,
                         &found[chosen].algo, workspace.raw(), workspace.bytes(),
                         work.context.stream.native()),
          "multiply");
  }

  // Times every algorithm that was recommended and keeps the fastest; says which one that is.
  std::string choose_best(GemmWork& work) {
    std::size_t best = 0;
    double least = HUGE_VAL;
    const Call call = [&](int set) { run(work, set); };
    for (chosen = 0; chosen < found.size(); ++chosen) {
      double seconds = HUGE_VAL;
      try {
        seconds = measure(call, work.sets, {0.01, 10}, work.context.stream).median;
      } catch (const Error&) {
        continue;  // recommended, but refused
      }
      if (seconds < least) best = chosen;
      least = std::min(seconds, least);
    }
    if (least == HUGE_VAL) throw Error(ErrorKind::device, "cublasLt refuses what it recommends");
    chosen = best;
    int algorithm = 0;
    std::uint32_t tile = 0, stages = 0;
    const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto& value) {
      static_cast<void>(cublasLtMatmulAlgoConfigGetAttribute(&found[best].algo, attribute, &value,
                                                             sizeof(value), nullptr));
    };
    get(CUBLASLT_ALGO_CONFIG_ID, algorithm);
    get(CUBLASLT_ALGO_CONFIG_TILE_ID, tile);
    get(CUBLASLT_ALGO_CONFIG_STAGES_ID, stages);
    return str("cublasLt's recommendation ", best + 1, " of ", found.size(), ": algorithm ",
               algorithm, ", tile ", tile, ", stages ", stages);
  }

  static constexpr std::int64_t kWorkspace = std::int64_t{32} << 20;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> found;  // as cublasLt sorts them
  std::size_t chosen = 0;
  Tensor workspace;
};

// cuBLAS is column-major: a row-major C = A B is C^T = B^T A^T there.
PeerCall bind_gemm(Work& work, Arithmetic arithmetic, bool best) {
  auto* gemm = work_on<problems::Gemm>(work);
  if (gemm == nullptr || !work.context.stream.device().is_cuda()) return {};
  if (!work.table.empty()) return {};  // of the strip rungs
  const bool bf16 = gemm->p.bf16();
  if (bf16 != (arithmetic == Arithmetic::bf16)) return {};
  const cudaDataType_t type = bf16 ? CUDA_R_16BF : CUDA_R_32F;
  const cublasComputeType_t compute =
      arithmetic == Arithmetic::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  if (best || gemm->p.adds_bias()) {
    const auto product = std::make_shared<LtProduct>(*gemm, type, compute);
    const std::string which = best ? product->choose_best(*gemm) : "";
    return {[gemm, product](int set) { product->run(*gemm, set); },
            [gemm](int set) { finish_layer(*gemm, set); }, which};
  }
  const auto handle = std::make_shared<Handle>(work.context.stream);
  const Call call = [gemm, handle, type, compute](int set) {
    const kernels::GemmDims& d = gemm->p.dims;
    const int m = static_cast<int>(d.m), n = static_cast<int>(d.n), k = static_cast<int>(d.k);
    const float one = 1, zero = 0;
    check(cublasGemmEx(handle->native, d.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                       d.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one,
                       matrix(*gemm, "b", set), type, d.transpose_b ? k : n,
                       matrix(*gemm, "a", set), type, d.transpose_a ? m : k, &zero,
                       matrix(*gemm, "c", set), type, n, compute, CUBLAS_GEMM_DEFAULT),
          "multiply");
  };
  return {call, [gemm](int set) { finish_layer(*gemm, set); }};
}

}  // namespace

std::vector<Peer> cublas_peers() {
  std::vector<Peer> peers;
  for (const auto& [name, arithmetic] : {std::pair{"cuBLAS fp32", Arithmetic::fp32},
                                         {"cuBLAS tf32", Arithmetic::tf32},
                                         {"cuBLAS bf16", Arithmetic::bf16}}) {
    for (const bool best : {false, true}) {
      peers.push_back({str(name, best ? ", best" : ""), arithmetic,
                       [=](Work& work) { return bind_gemm(work, arithmetic, best); }});
    }
  }
  return peers;
}

}  // namespace weft::measure
