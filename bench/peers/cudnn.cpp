// SPDX-License-Identifier: MIT
// cuDNN at convolution (the fastest algorithm that it finds, in fp32 and in tf32) and softmax,
// all in NCHW.
#include <algorithm>
#include <iterator>
#include <set>

#include "bench/peers/cudnn_state.h"
#include "kernels/conv/problem.h"
#include "kernels/softmax/problem.h"
#include "measure/problem_work.h"
#include "measure/turns.h"

namespace weft::measure {
namespace {

// The algorithms of one pass that cuDNN found. Their order is not that of its times, which changes.
struct Algorithms {
  std::set<int> numbers;
  std::size_t workspace = 0;  // bytes, of the one that needs the most

  template <class Performance>
  void add(const Performance* found, int count, cudnnMathType_t math) {
    for (int i = 0; i < count; ++i) {
      if (found[i].status != CUDNN_STATUS_SUCCESS) continue;
      // An fp32 yardstick must not round to tf32 in silence.
      if (math == CUDNN_FMA_MATH && found[i].mathType != CUDNN_FMA_MATH &&
          found[i].mathType != CUDNN_DEFAULT_MATH) {
        continue;
      }
      numbers.insert(static_cast<int>(found[i].algo));
      workspace = std::max(workspace, found[i].memory);
    }
  }
};

Algorithms find_algorithms(CudnnState& s, kernels::ConvPass pass, cudnnMathType_t math) {
  constexpr int kMost = 8;
  constexpr const char* kWhat = "try its algorithms";
  Algorithms all;
  int count = 0;
  if (pass == kernels::ConvPass::forward) {
    cudnnConvolutionFwdAlgoPerf_t found[kMost];
    check(
        cudnnFindConvolutionForwardAlgorithm(s.handle, s.x, s.w, s.conv, s.y, kMost, &count, found),
        kWhat);
    all.add(found, count, math);
  } else if (pass == kernels::ConvPass::backward_data) {
    cudnnConvolutionBwdDataAlgoPerf_t found[kMost];
    check(cudnnFindConvolutionBackwardDataAlgorithm(s.handle, s.w, s.y, s.conv, s.x, kMost, &count,
                                                    found),
          kWhat);
    all.add(found, count, math);
  } else {
    cudnnConvolutionBwdFilterAlgoPerf_t found[kMost];
    check(cudnnFindConvolutionBackwardFilterAlgorithm(s.handle, s.x, s.y, s.conv, s.w, kMost,
                                                      &count, found),
          kWhat);
    all.add(found, count, math);
  }
  return all;
}

PeerCall bind_conv(Work& work, cudnnMathType_t math) {
  auto* conv = work_on<problems::Conv>(work);
  if (conv == nullptr) return {};
  const kernels::ConvDims& d = conv->p.dims;
  Array<float>&x = conv->array("x"), &y = conv->array("y"), &w = conv->array("w");
  const Stream stream = work.context.stream;
  const auto s = std::make_shared<CudnnState>(stream);
  describe(s->x, d.n, d.c, d.h, d.w);
  describe(s->y, d.n, d.oc, d.oh(), d.ow());
  check(cudnnSetFilter4dDescriptor(s->w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, int(d.oc), int(d.c),
                                   int(d.kh), int(d.kw)),
        "describe filters");
  check(cudnnSetConvolution2dDescriptor(s->conv, int(d.pad_h), int(d.pad_w), int(d.stride_h),
                                        int(d.stride_w), 1, 1, CUDNN_CROSS_CORRELATION,
                                        CUDNN_DATA_FLOAT),
        "describe a convolution");
  check(cudnnSetConvolutionMathType(s->conv, math), "choose its arithmetic");
  const Algorithms all = find_algorithms(*s, conv->p.pass, math);
  s->workspace = Tensor(Shape{static_cast<std::int64_t>(all.workspace)}, DType::u8, stream);
  const Call call = [=, &x, &y, &w](int set) {
    const float one = 1, zero = 0;
    void* scratch = s->workspace.raw();
    const std::size_t bytes = s->workspace.bytes();
    if (conv->p.pass == kernels::ConvPass::forward) {
      check(cudnnConvolutionForward(s->handle, &one, s->x, x[set], s->w, w[set], s->conv,
                                    cudnnConvolutionFwdAlgo_t(s->algorithm), scratch, bytes, &zero,
                                    s->y, y[set]),
            "convolve");
    } else if (conv->p.pass == kernels::ConvPass::backward_data) {
      check(cudnnConvolutionBackwardData(s->handle, &one, s->w, w[set], s->y, y[set], s->conv,
                                         cudnnConvolutionBwdDataAlgo_t(s->algorithm), scratch,
                                         bytes, &zero, s->x, x[set]),
            "convolve backward");
    } else {
      check(cudnnConvolutionBackwardFilter(s->handle, &one, s->x, x[set], s->y, y[set], s->conv,
                                           cudnnConvolutionBwdFilterAlgo_t(s->algorithm), scratch,
                                           bytes, &zero, s->w, w[set]),
            "convolve backward");
    }
  };
  std::vector<Turn> turns;
  for (const int number : all.numbers) {
    turns.push_back([&s = *s, &call, conv, number] {
      s.algorithm = number;
      return std::vector<double>{
          measure(call, conv->sets, {0.004, 5}, conv->context.stream).median};
    });
  }
  const Fastest best = fastest_of(str(work.problem, ", math type ", math), turns);
  s->algorithm = *std::next(all.numbers.begin(), static_cast<std::ptrdiff_t>(best.index));
  return {call, {}, str("algorithm ", s->algorithm)};
}

PeerCall bind_softmax(Work& work) {
  auto* softmax = work_on<problems::Softmax>(work);
  if (softmax == nullptr) return {};
  Array<float>&in = softmax->array("in"), &y = softmax->array("y"), &out = softmax->array("out");
  const auto s = std::make_shared<CudnnState>(work.context.stream);
  describe(s->x, softmax->p.rows, softmax->p.cols, 1, 1);
  const Call call = [=, &in, &y, &out](int set) {
    const float one = 1, zero = 0;
    check(softmax->p.backward
              ? cudnnSoftmaxBackward(s->handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE,
                                     &one, s->x, y[set], s->x, in[set], &zero, s->x, out[set])
              : cudnnSoftmaxForward(s->handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE,
                                    &one, s->x, in[set], &zero, s->x, out[set]),
          "compute a softmax");
  };
  return {call, {}};
}

}  // namespace

std::vector<Peer> cudnn_peers() {
  return {
      {"cuDNN fp32", Arithmetic::fp32, [](Work& work) { return bind_conv(work, CUDNN_FMA_MATH); }},
      {"cuDNN tf32", Arithmetic::tf32,
       [](Work& work) { return bind_conv(work, CUDNN_TENSOR_OP_MATH); }},
      {"cuDNN softmax", Arithmetic::fp32, bind_softmax}};
}

}  // namespace weft::measure
