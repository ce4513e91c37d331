// SPDX-License-Identifier: MIT
// Every public function of every family, called rightly and wrongly. A function that a header of
// kernels/ declares and that has no call here fails CallCheck.EveryPublicFunctionHasACall.
#include "kernels/checks.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/kernels/calls/calls_of_arrays.h"
#include "tests/kernels/calls/calls_of_layers.h"
#include "tests/kernels/calls/calls_of_nbody.h"
#include "tests/kernels/calls/calls_of_training.h"

namespace weft::test {
namespace {

Calls all_calls() {
  Calls all;
  for (Calls (*calls)() : {activation_calls,   all_reduce_calls,     batch_calls,
                           batch_norm_calls,   conv_calls,           group_norm_calls,
                           grouped_conv_calls, conv_relu_pool_calls, dropout_and_loss_calls,
                           fused_cnn_calls,    fused_mlp_calls,      gemm_calls,
                           histogram_calls,    image_calls,          memory_calls,
                           nbody_calls,        optimizer_calls,      other_array_calls,
                           pool_calls,         reduce_calls,         scan_calls,
                           softmax_calls,      planes_calls}) {
    for (KernelCall& call : calls()) all.push_back(std::move(call));
  }
  return all;
}

// The functions that a header declares and that take a stream, but for those that only pass their
// arguments on.
std::set<std::string> functions_of(const std::filesystem::path& header) {
  std::ifstream file(header);
  std::stringstream text;
  text << file.rdbuf();
  const std::string plain = std::regex_replace(text.str(), std::regex("//[^\n]*"), "");
  const std::regex declaration("\nvoid (\\w+)\\([^;{]*const Stream& stream\\);");
  std::set<std::string> names;
  for (std::sregex_iterator i(plain.begin(), plain.end(), declaration), end; i != end; ++i) {
    names.insert((*i)[1]);
  }
  return names;
}

TEST(CallCheck, EveryPublicFunctionHasACall) {
  namespace fs = std::filesystem;
  const fs::path kernels = fs::path(WEFT_SOURCE_DIR) / "kernels";
  std::set<std::string> called;
  for (const KernelCall& call : all_calls()) called.insert(std::string(call.function));
  std::size_t declared = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kernels)) {
    const fs::path path = entry.path();
    const fs::path folder = path.parent_path().parent_path();
    const bool contract = folder == kernels || folder == kernels / "networks";
    if (!contract || path.extension() != ".h" || path.filename() == "launchers.h") continue;
    for (const std::string& name : functions_of(path)) {
      ++declared;
      EXPECT_TRUE(called.contains(name)) << name << " of " << path << " has no call";
    }
  }
  EXPECT_GE(declared, 55u);
}

class CallChecks : public DeviceTest {};

TEST_P(CallChecks, WrongCallsAreRefusedBeforeAnyWork) {
  for (const KernelCall& call : all_calls()) {
    if (call.runs_on(device())) check_call_of(call, stream());
  }
}

// What may be the same memory gives the bits of separate memory.
TEST_P(CallChecks, InPlaceHasTheSameBits) {
  int compared = 0;
  for (const KernelCall& call : all_calls()) {
    if (!call.runs_on(device())) continue;
    CallMemory memory(call, stream());
    const auto fill = [&](CallArguments& arguments) {
      for (std::size_t i = 0; i < call.arrays.size(); ++i) {
        const auto floats = static_cast<std::int64_t>(call.arrays[i].bytes / sizeof(float));
        const std::vector<float> values = random_floats(floats, 11 + i, 0.5f, 1);
        copy_bytes(arguments.at(call.arrays[i].name), device(), values.data(), Device::cpu(),
                   values.size() * sizeof(float), stream());
      }
    };
    const auto bytes_of = [&](const void* data, std::size_t bytes) {
      std::vector<char> values(bytes);
      copy_bytes(values.data(), Device::cpu(), data, device(), bytes, stream());
      stream().synchronize();
      return values;
    };
    for (const CallArray& array : call.arrays) {
      if (array.twin.empty()) continue;
      CallArguments& apart = memory.reset();
      fill(apart);
      call.run(apart);
      const std::vector<char> expected = bytes_of(apart.at(array.name), array.bytes);
      CallArguments& in_place = memory.reset();
      fill(in_place);
      in_place.set(array.name, in_place.at(array.twin));
      call.run(in_place);
      EXPECT_TRUE(same_bits(bytes_of(in_place.at(array.name), array.bytes), expected))
          << call.function << ", " << array.name;
      ++compared;
    }
  }
  EXPECT_GE(compared, 9);
}
WEFT_ON_EACH_DEVICE(CallChecks);

// Columns of one matrix: rows of C lie between those of A.
TEST(CallCheck, RowsMayLieBetweenThoseOfOthers) {
  const Stream stream(Device::cpu());
  constexpr std::int64_t n = 6, pitch = 2 * n;
  std::vector<float> both = random_floats(n * pitch, 3), b = random_floats(n * n, 4);
  std::vector<float> a, c(at(n * n));
  for (std::int64_t r = 0; r < n; ++r) {
    a.insert(a.end(), both.begin() + r * pitch, both.begin() + r * pitch + n);
  }
  kernels::gemm(c.data(), a.data(), b.data(), nullptr, {n, n, n}, {}, stream);
  kernels::gemm(both.data() + n, both.data(), b.data(), nullptr,
                {.m = n, .n = n, .k = n, .lda = pitch, .ldc = pitch}, {}, stream);
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(both[at(r * pitch + n + i)], c[at(r * n + i)]) << r << " " << i;
    }
  }
  for (const std::int64_t shift : {std::int64_t{0}, std::int64_t{1}, n - 1, n + 1, pitch}) {
    EXPECT_USAGE_ERROR(
        kernels::gemm(both.data() + shift, both.data(), b.data(), nullptr,
                      {.m = n - 1, .n = n, .k = n, .lda = pitch, .ldc = pitch}, {}, stream),
        "c");
  }
  // Other pitches: one row of C, in a gap and not.
  EXPECT_NO_THROW(kernels::gemm(both.data() + pitch + n, both.data(), b.data(), nullptr,
                                {.m = 1, .n = n, .k = n, .lda = pitch}, {}, stream));
  EXPECT_NO_THROW(kernels::copy_rows(both.data() + 3, both.data(), 3, 3, 6, pitch,
                                     kernels::kAutomatic, stream));
  EXPECT_USAGE_ERROR(
      kernels::copy_rows(both.data() + 4, both.data(), 4, 3, 8, pitch, kernels::kAutomatic, stream),
      "copy_rows: y overlaps x");
}

TEST(CallCheck, NothingIsAskedOfArraysWithoutElements) {
  const Stream stream(Device::cpu());
  EXPECT_NO_THROW(kernels::softmax_forward(nullptr, nullptr, 0, 4, stream));
  float c = 7;
  const float bias = 2;
  kernels::gemm(&c, nullptr, nullptr, &bias, {1, 1, 0}, {}, stream);  // no sums
  EXPECT_EQ(c, 2);
  float sum = 7;
  kernels::reduce(&sum, static_cast<float*>(nullptr), 0, kernels::Reduction::sum, {}, stream);
  EXPECT_EQ(sum, 0);
  float* const parameters = &c;
  const std::int64_t step = 0;
  kernels::sgd_update(parameters, nullptr, &bias, 1, &bias, &step, {}, stream);  // no momentum
  EXPECT_EQ(c, -2);
}

TEST(CallCheck, ArraysThatFitNoMemoryAreRefused) {
  const Stream stream(Device::cpu());
  float x = 0;
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;  // floats: 2^64 bytes
  EXPECT_USAGE_ERROR(kernels::activation_forward(&x, &x, kHuge, kernels::Activation::relu, stream),
                     "activation_forward: y does not fit in memory");
}

TEST(CallCheck, MessagesSayWhatWasExpectedAndFound) {
  const Stream stream(Device::cpu());
  alignas(16) float x[8] = {};
  const auto relu = kernels::Activation::relu;
  EXPECT_USAGE_ERROR(kernels::activation_forward(x, nullptr, 8, relu, stream),
                     "activation_forward: x is null, expected 32 bytes");
  EXPECT_USAGE_ERROR(kernels::activation_forward(x + 1, x, 7, relu, stream),
                     "activation_forward: y overlaps x in part, expected the very same memory or "
                     "other memory");
  EXPECT_USAGE_ERROR(kernels::activation_forward(x, x, 8, kernels::Activation(11), stream),
                     "activation_forward: kind is 11, expected an enumerator from 0 to 10");
  EXPECT_USAGE_ERROR(kernels::gemm(x, x, x + 1, nullptr, {1, 1, 1}, {}, stream),
                     "gemm: c is the memory of a, expected other memory");
  EXPECT_USAGE_ERROR(kernels::gemm(x, x + 1, x + 2, nullptr, {1, 1, 1}, {.beta = kInf}, stream),
                     "gemm: beta must be finite, found inf");
}

TEST(CallCheck, OutputExtentsRefuseAStrideOfZero) {
  const kernels::ConvDims conv{.n = 1, .c = 1, .h = 8, .w = 8, .oc = 1, .stride_h = 0};
  EXPECT_USAGE_ERROR(static_cast<void>(conv.oh()), "a window moves by 0");
  const kernels::PoolDims pool{.h = 8, .w = 8, .stride_w = 0};
  EXPECT_USAGE_ERROR(static_cast<void>(pool.ow()), "a window moves by 0");
}

}  // namespace
}  // namespace weft::test
