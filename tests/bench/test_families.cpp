// SPDX-License-Identifier: MIT
// Every family of the catalogue has a harness, every variant passes its check, and every check
// fails for a result that is missing, in part or as a whole, or wrong in one value.
#include "bench/families.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>

#include "bench/run.h"
#include "kernels/catalogue.h"
#include "tests/support/device_test.h"

namespace weft::bench {
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

class FamilyChecks : public weft::test::DeviceTest {
 protected:
  // Calls back with every problem and variant that runs here, at a small size.
  template <class Body>
  void for_each_variant(Body body) {
    static const std::map<std::string_view, std::int64_t> kSizes = {
        {"conv", 1},  {"pool", 2},      {"batch_norm", 2},
        {"batch", 2}, {"fused_cnn", 3}, {"fused_mlp", 3}};
    for (const FamilyBench* family : family_benches()) {
      const auto size = kSizes.find(family->family);
      std::set<std::string> done;
      for (const kernels::VariantInfo& info : kernels::find_family(family->family)->variants()) {
        Context context{stream()};
        context.variant = info.name;
        const std::unique_ptr<Work> work =
            family->sized(size == kSizes.end() ? 67 : size->second, context);
        for (const std::string& name : runnable_variants(family->family, *work)) {
          if (name == info.name && done.insert(name).second) {
            SCOPED_TRACE(str(family->family, "/", name, ", ", work->problem));
            body(*work, name);
          }
        }
      }
      EXPECT_FALSE(done.empty()) << family->family << " runs nothing on " << to_string(device());
    }
  }

  static Verdict checked(Work& work, const std::string& variant) {
    return work.check(0, arithmetic_of(variant));
  }
};

TEST_P(FamilyChecks, PassAfterACall) {
  for_each_variant([](Work& work, const std::string& variant) {
    EXPECT_GT(work.bytes, 0);
    EXPECT_GE(work.flops, 0);
    EXPECT_GE(work.sets, 1);
    work.reset();
    work.call(variant, 0);
    const Verdict verdict = checked(work, variant);
    EXPECT_TRUE(verdict.ok) << verdict.text;
    EXPECT_GT(verdict.compared, 0);
  });
}

TEST_P(FamilyChecks, FailWhenNothingWasWritten) {
  for_each_variant([](Work& work, const std::string& variant) {
    work.reset();
    EXPECT_FALSE(checked(work, variant).ok);
    work.call(variant, 0);
    work.reset();
    EXPECT_FALSE(checked(work, variant).ok) << "after a call whose result was forgotten";
  });
}

TEST_P(FamilyChecks, FailWhenOneValueIsWrongOrUnwritten) {
  int spoiled = 0;
  for_each_variant([&](Work& work, const std::string& variant) {
    const std::size_t count = work.written(0).size();
    EXPECT_TRUE(count > 0 || work.traffic == Traffic::host_bus) << "says nothing of its outputs";
    for (std::size_t i = 0; i < count; ++i) {
      for (const bool ones : {false, true}) {
        work.reset();
        work.call(variant, 0);
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

WEFT_ON_EACH_DEVICE(FamilyChecks);

}  // namespace
}  // namespace weft::bench
