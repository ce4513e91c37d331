// SPDX-License-Identifier: MIT
// cuBLAS at the matrix products: fp32, and tf32 and bfloat16 on the tensor cores.
#include <cublas_v2.h>

#include "bench/bench_gemm.h"
#include "bench/peers/peers.h"
#include "engine/error.h"

namespace weft::bench {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw Error(ErrorKind::device,
                str("cuBLAS could not ", what, ": ", cublasGetStatusString(status)));
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

// cuBLAS is column-major: a row-major C = A B is C^T = B^T A^T there.
PeerCall bind_gemm(Work& work, Arithmetic arithmetic) {
  auto* gemm = dynamic_cast<GemmWork*>(&work);
  if (gemm == nullptr || !work.context.stream.device().is_cuda()) return {};
  if (!work.table.empty()) return {};  // of the strip rungs
  const bool bf16 = gemm->storage() == kernels::GemmStorage::bf16;
  if (bf16 != (arithmetic == Arithmetic::bf16)) return {};
  const cudaDataType_t type = bf16 ? CUDA_R_16BF : CUDA_R_32F;
  const cublasComputeType_t compute =
      arithmetic == Arithmetic::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const auto handle = std::make_shared<Handle>(work.context.stream);
  const Call call = [gemm, handle, type, compute](int set) {
    const kernels::GemmDims& d = gemm->dims();
    const int m = static_cast<int>(d.m), n = static_cast<int>(d.n), k = static_cast<int>(d.k);
    const float one = 1, zero = 0;
    check(cublasGemmEx(handle->native, d.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                       d.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, gemm->b(set), type,
                       d.transpose_b ? k : n, gemm->a(set), type, d.transpose_a ? m : k, &zero,
                       gemm->c(set), type, n, compute, CUBLAS_GEMM_DEFAULT),
          "multiply");
  };
  return {call, {}};
}

Peer peer(const char* name, Arithmetic arithmetic) {
  return {name, arithmetic, [arithmetic](Work& work) { return bind_gemm(work, arithmetic); }};
}

}  // namespace

std::vector<Peer> cublas_peers() {
  return {peer("cuBLAS fp32", Arithmetic::fp32), peer("cuBLAS tf32", Arithmetic::tf32),
          peer("cuBLAS bf16", Arithmetic::bf16)};
}

}  // namespace weft::bench
