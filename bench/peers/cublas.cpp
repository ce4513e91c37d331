// SPDX-License-Identifier: MIT
// cuBLAS at the matrix products: fp32, and tf32 and bfloat16 on the tensor cores.
//
// Each has two rows. "cuBLAS tf32" is what a plain call runs: cublasGemmEx, or where a layer adds a
// bias, which cublasLt does in its epilogue, the algorithm that cublasLt puts first. "cuBLAS tf32,
// best" is the fastest of the algorithms that cublasLt recommends for the problem, each timed on
// it. What a layer's backward pass asks for besides the product belongs to the call that is timed:
// a kernel of ours does it behind the product, or cublasLt in its epilogue. The best is the faster
// of the two.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <optional>

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

// Does what a layer's backward pass asks for besides the product, where the library has not.
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

bool is_backward(const problems::Gemm& p) {
  return p.pass == LayerPass::data || p.pass == LayerPass::weights;
}

// The mask of a data gradient as cublasLt reads it: a bit for each element, lowest bit first, and
// rows of a multiple of 128 bits.
struct BitMask {
  explicit BitMask(const GemmWork& work)
      : row_bits(round_up(work.p.dims.n, std::int64_t{128})),
        bits(Shape{work.p.dims.m * row_bits / 8}, DType::u8, work.context.stream) {
    const auto& mask = work.array("mask");
    std::vector<std::uint8_t> packed(bits.bytes());
    for (std::int64_t i = 0; i < work.p.dims.m * work.p.dims.n; ++i) {
      if (!(mask(i) > 0)) continue;
      const std::int64_t bit = i / work.p.dims.n * row_bits + i % work.p.dims.n;
      packed[static_cast<std::size_t>(bit / 8)] |= static_cast<std::uint8_t>(1 << (bit % 8));
    }
    const Stream& stream = work.context.stream;
    copy_bytes(bits.raw(), stream.device(), packed.data(), Device::cpu(), packed.size(), stream);
    stream.synchronize();
  }

  std::int64_t row_bits;
  Tensor bits;
};

// Who does what a backward pass asks for besides the product.
enum class Besides { kernel_behind, epilogue };

// One product, with what the layer asks for besides, that cublasLt has made ready.
struct LtProduct {
  LtProduct(GemmWork& work, cudaDataType_t type, cublasComputeType_t in,
            Besides besides = Besides::kernel_behind)
      : compute(in),
        in_epilogue(besides == Besides::epilogue),
        workspace(Shape{kWorkspace}, DType::u8, work.context.stream) {
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
    } else if (in_epilogue && work.p.pass == LayerPass::data) {
      mask.emplace(work);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DRELU);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, mask->bits.raw());
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, mask->row_bits);
    } else if (in_epilogue) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BGRADB);
      float* sums = work.array("row_sums")[0];
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, sums);
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
    if (!in_epilogue) finish_layer(work, set);
  }

  // Lets every algorithm that was recommended take turns, and keeps the fastest, which takes
  // `least` seconds.
  void choose_best(GemmWork& work) {
    std::vector<Turn> turns;
    for (std::size_t i = 0; i < found.size(); ++i) {
      turns.push_back([&, i] {
        chosen = i;
        const Call call = [&](int set) { run(work, set); };
        return std::vector<double>{
            measure(call, work.sets, {0.004, 5}, work.context.stream).median};
      });
    }
    const Fastest best = fastest_of(
        str(work.problem, ", compute type ", compute, in_epilogue ? ", epilogue" : ""), turns);
    chosen = best.index;
    least = best.seconds;
  }

  // Says which algorithm was kept.
  std::string which(const problems::Gemm& p) const {
    int algorithm = 0;
    std::uint32_t tile = 0, stages = 0;
    const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto& value) {
      static_cast<void>(cublasLtMatmulAlgoConfigGetAttribute(&found[chosen].algo, attribute, &value,
                                                             sizeof(value), nullptr));
    };
    get(CUBLASLT_ALGO_CONFIG_ID, algorithm);
    get(CUBLASLT_ALGO_CONFIG_TILE_ID, tile);
    get(CUBLASLT_ALGO_CONFIG_STAGES_ID, stages);
    return str("cublasLt's recommendation ", chosen + 1, " of ", found.size(), ": algorithm ",
               algorithm, ", tile ", tile, ", stages ", stages,
               !is_backward(p) ? ""
               : in_epilogue   ? ", the rest in its epilogue"
                               : ", the rest by a kernel behind it");
  }

  static constexpr std::int64_t kWorkspace = std::int64_t{32} << 20;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> found;  // as cublasLt sorts them
  std::size_t chosen = 0;
  double least = HUGE_VAL;
  cublasComputeType_t compute;
  bool in_epilogue;
  std::optional<BitMask> mask;
  Tensor workspace;
};

// The fastest that cublasLt has. It need not have an epilogue for every problem.
std::shared_ptr<LtProduct> best_product(GemmWork& work, cudaDataType_t type,
                                        cublasComputeType_t compute) {
  auto best = std::make_shared<LtProduct>(work, type, compute);
  best->choose_best(work);
  if (!is_backward(work.p)) return best;
  try {
    auto other = std::make_shared<LtProduct>(work, type, compute, Besides::epilogue);
    other->choose_best(work);
    if (other->least < best->least) return other;
  } catch (const Error&) {
  }
  return best;
}

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
    const auto product = best ? best_product(*gemm, type, compute)
                              : std::make_shared<LtProduct>(*gemm, type, compute);
    return {[gemm, product](int set) { product->run(*gemm, set); }, nullptr,
            best ? product->which(gemm->p) : ""};
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
    finish_layer(*gemm, set);
  };
  return {call, nullptr};
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
