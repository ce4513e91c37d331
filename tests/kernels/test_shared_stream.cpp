// SPDX-License-Identifier: MIT
// Two host threads that share a stream each get the results that they would get alone, also from
// rungs that keep something between the launches of a call: in the stream's scratch memory, in its
// zeroed words or in constant memory.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "kernels/conv/conv.h"
#include "kernels/nbody/nbody.h"
#include "kernels/reduce/reduce.h"
#include "kernels/scan/scan.h"
#include "kernels/signal/signal.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/products/gemm_problem.h"

namespace weft::test {
namespace {

class SharedStream : public DeviceTest {
 protected:
  void SetUp() override {
    if (built_for_host_cuda()) GTEST_SKIP() << "kernels run one by one here";
    DeviceTest::SetUp();
  }

  using Queue = std::function<void(float* out)>;

  // queue[i] fills `elements` floats. Both are queued by a thread of their own, again and again.
  void expect_own_results(const std::string& what, std::int64_t elements, const Queue (&queue)[2]) {
    const bool few = built_for_host_cuda() || device().is_cpu() || small_tests();
    const int rounds = few ? 1 : 4, calls = few ? 2 : 30;
    std::vector<float> alone[2];
    for (int i = 0; i < 2; ++i) {
      Guarded<float> out(elements, stream());
      queue[i](out.data());
      alone[i] = out.get();
    }
    std::atomic<std::int64_t> wrong = 0;
    const auto work = [&](int i) {
      Guarded<float> out(elements, stream());
      for (int round = 0; round < rounds; ++round) {
        for (int call = 0; call < calls; ++call) queue[i](out.data());
        const std::vector<float> found = out.get();
        for (std::size_t e = 0; e < found.size(); ++e) {
          wrong += std::memcmp(&found[e], &alone[i][e], sizeof(float)) == 0 ? 0 : 1;
        }
      }
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    EXPECT_EQ(wrong, 0) << what << ": values of " << 2 * rounds * elements;
  }

  // The same with inputs of their own on the device.
  void expect_own_results(
      const std::string& what, std::int64_t elements, std::int64_t inputs,
      const std::function<void(float* out, const float* in, Workspace workspace)>& queue,
      std::size_t workspace_bytes = 0) {
    const Guarded<float> in[2] = {{random_floats(inputs, 1), stream()},
                                  {random_floats(inputs, 2), stream()}};
    const Buffer memory[2] = {{workspace_bytes, stream()}, {workspace_bytes, stream()}};
    const auto queue_of = [&](int i) -> Queue {
      return [&, i](float* out) { queue(out, in[i].data(), {memory[i].data(), workspace_bytes}); };
    };
    expect_own_results(what, elements, {queue_of(0), queue_of(1)});
  }
};

TEST_P(SharedStream, OfProducts) {
  const std::int64_t side = device().is_cpu() ? 200 : built_for_host_cuda() ? 40 : 640;
  const GemmDims dims{side, side, side, true, false};  // both operands of a wgmma are repacked
  for_each_variant(dims, device(), [&](const std::string& variant, const GemmOptions& options) {
    if (built_for_host_cuda() && variant != "automatic" && variant != "split_k") return;
    expect_own_results(variant, side * side, side * side,
                       [&](float* out, const float* in, Workspace) {
                         gemm(out, in, in, nullptr, dims, options, stream());
                       });
  });
}

TEST_P(SharedStream, OfConvolutions) {
  const ConvDims d{built_for_host_cuda() ? 1 : 16, 4, 12, 12, 8, 3, 3, 1, 1, 1, 1};
  const std::int64_t x = d.n * d.c * d.h * d.w;
  for (const Rung& rung : conv_rungs()) {
    if (!conv_takes(rung.name, {ConvPass::forward, d}, device())) continue;
    const ConvOptions options{.variant = rung.name};
    expect_own_results(
        std::string(rung.name), d.n * d.oc * d.oh() * d.ow(), x + d.oc * d.c * d.kh * d.kw,
        [&](float* out, const float* in, Workspace workspace) {
          conv2d_forward(out, in, in + x, nullptr, d, Epilogue::none, options, workspace, stream());
        },
        conv2d_workspace_bytes(ConvPass::forward, d, options, device()));
  }
}

TEST_P(SharedStream, OfSignals) {
  const SignalDims d{.width = built_for_host_cuda() ? 500 : 20000, .filter_width = 31};
  for (const Rung& rung : signal_rungs()) {
    if (!signal_takes(rung.name, d, device())) continue;
    expect_own_results(std::string(rung.name), d.width, d.width + 31,
                       [&](float* out, const float* in, Workspace) {
                         signal_convolve(out, in, in + d.width, d, {rung.name}, stream());
                       });
  }
}

TEST_P(SharedStream, OfBodies) {
  const std::int64_t n = built_for_host_cuda() ? 40 : 3000;
  for (const Rung& rung : nbody_rungs()) {
    const NbodyOptions options{.variant = rung.name};
    if (!nbody_takes(rung.name, {n}, device())) continue;
    expect_own_results(
        std::string(rung.name), 4 * n, 4 * n,
        [&](float* out, const float* in, Workspace workspace) {
          nbody_accelerations(out, in, n, options, workspace, stream());
        },
        nbody_workspace_bytes(n, rung.name, device()));
  }
}

TEST_P(SharedStream, OfSums) {
  const std::int64_t n = built_for_host_cuda() ? 5000 : 300000;
  for (const Rung& rung : reduce_rungs()) {
    if (!reduce_takes(rung.name, {n}, device())) continue;
    const ReduceOptions options{.variant = rung.name};
    expect_own_results(
        str("reduce ", rung.name), 1, n,
        [&](float* out, const float* in, Workspace workspace) {
          reduce(out, in, n, Reduction::sum, options, workspace, stream());
        },
        reduce_workspace_bytes<float>(n, options, device()));
  }
  for (const Rung& rung : scan_rungs()) {
    if (!scan_takes(rung.name, {n}, device())) continue;
    const ScanOptions options{.variant = rung.name};
    expect_own_results(
        str("scan ", rung.name), n, n,
        [&](float* out, const float* in, Workspace workspace) {
          scan(out, in, n, options, workspace, stream());
        },
        scan_workspace_bytes<float>(n, options, device()));
  }
}

WEFT_ON_EACH_DEVICE(SharedStream);

// A thread starts with the first GPU, and a stream of another one is as good to it.
TEST(SharedStreamOfTheLastGpu, WorksInAThreadThatDidNotMakeIt) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
  const Stream stream(Device::cuda(cuda_status().device_count - 1));
  std::vector<float> found;
  std::thread([&] {
    const Tensor x = tensor_from_host<float>({3}, std::vector<float>{1, 2, 3}, stream);
    Tensor sum({1}, DType::f32, stream);
    const Buffer memory(reduce_workspace_bytes(3, stream.device()), stream);
    reduce(sum.data<float>(), x.data<float>(), 3, Reduction::sum, {memory.data(), memory.bytes()},
           stream);
    found = to_host(sum.view<float>(), stream);
  }).join();
  EXPECT_EQ(found, std::vector<float>{6});
}

}  // namespace
}  // namespace weft::test
