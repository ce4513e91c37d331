// SPDX-License-Identifier: MIT
// Every family of the catalogue has a harness, every variant passes its check, and every check
// fails for a result that is missing, in part or as a whole, or wrong in one value.
#include "measure/families.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "kernels/catalogue.h"
#include "measure/machine/sampler.h"
#include "measure/run.h"
#include "tests/support/device_test.h"

namespace weft::measure {
namespace {

TEST(Families, EveryFamilyOfTheCatalogueHasAHarness) {
  std::set<std::string_view> families;
  for (const kernels::Family& family : kernels::catalogue()) {
    families.insert(family.name);
    const FamilyBench* bench = find_family_bench(family.name);
    ASSERT_NE(bench, nullptr) << family.name;
    EXPECT_FALSE(bench->size_meaning.empty()) << family.name;
    EXPECT_GE(bench->largest_size, bench->default_size) << family.name;
    EXPECT_FALSE(bench->problems(Device::cpu()).empty()) << family.name;
    EXPECT_FALSE(bench->problems(Device::cuda()).empty()) << family.name;
  }
  for (const FamilyBench* bench : family_benches()) {
    EXPECT_TRUE(families.contains(bench->family)) << bench->family << " is in no catalogue";
  }
}

// `count` bytes at `at`, each combined with 0x40 or set to ones.
void spoil(void* at, std::size_t count, bool ones, const Stream& stream) {
  std::vector<unsigned char> bytes(count);
  copy_bytes(bytes.data(), Device::cpu(), at, stream.device(), count, stream);
  stream.synchronize();
  if (ones) {
    std::memset(bytes.data(), 0xff, count);
  } else {
    bytes.back() ^= 0x40;  // of a float: the exponent
  }
  copy_bytes(at, stream.device(), bytes.data(), Device::cpu(), count, stream);
  stream.synchronize();
}

std::int64_t small_size(std::string_view family) {
  static const std::map<std::string_view, std::int64_t> kSizes = {
      {"conv", 1},  {"conv_relu_pool", 1}, {"pool", 2},     {"batch_norm", 2},
      {"batch", 2}, {"fused_cnn", 3},      {"fused_mlp", 3}};
  const auto size = kSizes.find(family);
  return size == kSizes.end() ? 67 : size->second;
}

class FamilyChecks : public weft::test::DeviceTest {
 protected:
  // Calls back with every problem and variant that runs here, at a small size.
  template <class Body>
  void for_each_variant(Body body) {
    for (const FamilyBench* family : family_benches()) {
      std::set<std::string> done;
      for (const kernels::Rung& info : kernels::find_family(family->family)->rungs()) {
        Context context{stream()};
        context.variant = info.name;
        const std::unique_ptr<Work> work = family->sized(small_size(family->family), context);
        for (const Variant& variant : runnable_variants(family->family, *work)) {
          if (variant.name == info.name && done.insert(variant.name).second) {
            SCOPED_TRACE(str(family->family, "/", variant.name, ", ", work->problem));
            body(*work, variant);
          }
        }
      }
      EXPECT_FALSE(done.empty()) << family->family << " runs nothing on " << to_string(device());
    }
  }

  static Verdict checked(Work& work, const Variant& variant) {
    return work.check(0, variant.arithmetic);
  }
};

TEST_P(FamilyChecks, PassAfterACall) {
  for_each_variant([](Work& work, const Variant& variant) {
    EXPECT_GT(work.bytes, 0);
    EXPECT_GE(work.flops, 0);
    EXPECT_GE(work.sets, 1);
    work.reset();
    work.call(variant.name, 0);
    const Verdict verdict = checked(work, variant);
    EXPECT_TRUE(verdict.ok) << verdict.text;
    EXPECT_GT(verdict.compared, 0);
  });
}

TEST_P(FamilyChecks, FailWhenNothingWasWritten) {
  for_each_variant([](Work& work, const Variant& variant) {
    work.reset();
    EXPECT_FALSE(checked(work, variant).ok);
    work.call(variant.name, 0);
    work.reset();
    EXPECT_FALSE(checked(work, variant).ok) << "after a call whose result was forgotten";
  });
}

// As a bench does it: all variants are recorded, and then take turns with what each recorded.
TEST_P(FamilyChecks, WhatIsRecordedOutlivesTheCallsOfOthers) {
  for (const FamilyBench* family : family_benches()) {
    std::set<std::string> problems;
    for (const kernels::Rung& info : kernels::find_family(family->family)->rungs()) {
      Context context{stream()};
      context.variant = info.name;
      const std::unique_ptr<Work> work = family->sized(small_size(family->family), context);
      if (!problems.insert(work->problem).second) continue;
      SCOPED_TRACE(str(family->family, ", ", work->problem));
      const std::vector<Variant> variants = runnable_variants(family->family, *work);
      std::vector<std::unique_ptr<Sampler>> samplers;
      work->reset();
      for (const Variant& variant : variants) work->call(variant.name, 0);  // grows scratch memory
      for (const Variant& variant : variants) {
        samplers.push_back(std::make_unique<Sampler>(
            [&work, name = variant.name](int set) { work->call(name, set); }, 1,
            TimingOptions{0, 1}, stream()));
      }
      for (const auto& sampler : samplers) EXPECT_EQ(sampler->take(1).size(), 1u);
    }
  }
}

TEST_P(FamilyChecks, FailWhenOneValueIsWrongOrUnwritten) {
  int spoiled = 0;
  for_each_variant([&](Work& work, const Variant& variant) {
    const std::size_t count = work.written(0).size();
    EXPECT_TRUE(count > 0 || work.traffic == Traffic::host_bus) << "says nothing of its outputs";
    for (std::size_t i = 0; i < count; ++i) {
      for (const bool ones : {false, true}) {
        work.reset();
        work.call(variant.name, 0);
        const Bytes output = work.written(0)[i];
        ASSERT_GT(output.count, 0u);
        spoil(output.data, std::min<std::size_t>(output.count, 4), ones, stream());
        EXPECT_FALSE(checked(work, variant).ok)
            << "output " << i << (ones ? ": first value unwritten" : ": first value changed");
        ++spoiled;
      }
    }
  });
  EXPECT_GT(spoiled, 50);
}

// What `weft bench` holds every row to, on small problems: a kernel runs, and no two rungs are the
// same kernels with the same grid.
class FamilyLaunches : public weft::test::DeviceTest {};

TEST_P(FamilyLaunches, AreThoseOfTheRungThatWasAsked) {
  if (device().is_cpu()) GTEST_SKIP() << "launches are a GPU's";
  for (const FamilyBench* family : family_benches()) {
    std::set<std::string> problems;
    Counts left_out;
    std::vector<Row> rows;
    bool any = false;
    for (const kernels::Rung& rung : kernels::find_family(family->family)->rungs()) {
      any = any || kernels::ladder::refusal(rung, mode_of(rung), device()).empty();
      Context context{stream()};
      context.variant = rung.name;
      const std::unique_ptr<Work> work = family->sized(small_size(family->family), context);
      if (!problems.insert(work->problem).second) continue;
      for (const Variant& variant : runnable_variants(family->family, *work, &left_out)) {
        Row row;
        row.problem = work->problem;
        row.name = variant.name;
        row.rung = variant.rung;
        row.arithmetic = variant.arithmetic;
        row.kernels = usage_of(*work, variant.name);
        check_launches(row, rows, *work);
        EXPECT_EQ(row.misnamed, "") << family->family << "/" << row.name << ", " << row.problem;
        rows.push_back(std::move(row));
      }
    }
    EXPECT_EQ(rows.empty(), !any) << family->family << " runs nothing on " << to_string(device());
    std::printf("%s\n", left_out_text(family->family, left_out, rows.size()).c_str());
  }
}

WEFT_ON_EACH_DEVICE(FamilyChecks);
WEFT_ON_EACH_DEVICE(FamilyLaunches);

}  // namespace
}  // namespace weft::measure
