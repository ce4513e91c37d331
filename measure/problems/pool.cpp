// SPDX-License-Identifier: MIT
// Pooling: max forward without the argmax, the other passes, and the subsampling layer of LeNet.
#include "kernels/pool/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

using problems::PoolPass;

class PoolWork final : public ProblemWork<problems::Pool> {
 public:
  PoolWork(const Problem& of, const Context& made_with) : ProblemWork(of, made_with) {
    if (p.pass != PoolPass::max_backward) return;
    // What max pooling chose from, and its outputs, which Weft does without.
    const Array<float>& x = input("x", random_values(p.inputs(), seed() + 1), 1);
    std::vector<float> y(static_cast<std::size_t>(p.outputs()));
    std::vector<std::int32_t> argmax(y.size());
    kernels::cpu::max_pool2d_forward<float>(y.data(), argmax.data(), x.host.data(), p.dims);
    input("y", std::move(y), 1);
    argmax_ = &input("argmax", std::move(argmax));
  }

  bool can_run(std::string_view variant) const override {
    return kernels::pool_takes(variant, p.dims, device(),
                               p.pass == PoolPass::bias_sigmoid
                                   ? kernels::PoolOperation::bias_sigmoid
                                   : kernels::PoolOperation::pool);
  }
  void call(std::string_view variant, int set) override {
    constexpr auto kOverwrite = kernels::GradientMode::overwrite;
    const Stream& stream = context.stream;
    float* const out = out_[set];
    const float* const in = in_[set];
    switch (p.pass) {
      case PoolPass::max:
        return kernels::max_pool2d_forward(out, nullptr, in, p.dims, variant, stream);
      case PoolPass::max_backward:
        return kernels::max_pool2d_backward(out, in, (*argmax_)[set], p.dims, kOverwrite, variant,
                                            stream);
      case PoolPass::average:
        return kernels::avg_pool2d_forward(out, in, p.dims, variant, stream);
      case PoolPass::average_backward:
        return kernels::avg_pool2d_backward(out, in, p.dims, kOverwrite, variant, stream);
      case PoolPass::bias_sigmoid:
        return kernels::avg_pool2d_bias_sigmoid_forward(out, in, bias_[set], p.dims, variant,
                                                        stream);
    }
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    const std::int64_t planes = p.dims.n * p.dims.c, windows = p.dims.oh() * p.dims.ow();
    const std::int64_t in = in_.size() / planes;
    const auto expect = [&](std::int64_t plane, double* values) {
      p.expect_plane(values, in_.doubles(plane * in, in).data(),
                     argmax_ == nullptr ? nullptr : argmax_->host.data() + plane * windows,
                     bias_(plane % p.dims.c));
    };
    compare_slices(comparison, out_, set, out_.size() / planes, p.pass == PoolPass::max ? 16 : 64,
                   expect, [&](std::size_t, double) { return p.bound(); });
  }

  // (n, c, h, w) and (n, c, oh, ow), and backward the gradients of these.
  Array<float>& in_ = input("in", random_values(p.backward() ? p.outputs() : p.inputs(), seed()));
  Array<float>& out_ = output("out", p.backward() ? p.inputs() : p.outputs());
  Array<float>& bias_ = input("bias", random_values(p.dims.c, seed() + 1), 1);
  Array<std::int32_t>* argmax_ = nullptr;  // of max_backward
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  if (kernels::pool_operation(context.variant) == kernels::PoolOperation::bias_sigmoid) {
    return made<PoolWork>({{.n = size, .c = 6, .h = 28, .w = 28}, PoolPass::bias_sigmoid})(context);
  }
  return made<PoolWork>({{.n = size, .c = 32, .h = 28, .w = 28}})(context);
}

std::vector<MakeWork> problems_on(Device device) {
  const kernels::PoolDims small = {.n = 64, .c = 32, .h = 28, .w = 28};
  if (device.is_cpu()) {
    return made_of<PoolWork>({{small},
                              {small, PoolPass::max_backward},
                              {small, PoolPass::average},
                              {small, PoolPass::average_backward},
                              {small, PoolPass::bias_sigmoid}});
  }
  const kernels::PoolDims halved = {.n = 256, .c = 64, .h = 112, .w = 112};
  const kernels::PoolDims overlapping = {
      .n = 64, .c = 64, .h = 112, .w = 112, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1};
  return made_of<PoolWork>({{{.n = 256, .c = 6, .h = 28, .w = 28}},
                            {halved},
                            {overlapping},
                            {halved, PoolPass::max_backward},
                            {overlapping, PoolPass::max_backward},
                            {halved, PoolPass::average},
                            {halved, PoolPass::average_backward},
                            {halved, PoolPass::bias_sigmoid}});
}

}  // namespace

extern const FamilyBench pool_bench = {
    "pool", "images of 32 x 28 x 28, or of 6 x 28 x 28 with bias and sigmoid",
    64,     std::int64_t{1} << 20,
    sized,  problems_on};

}  // namespace weft::measure
