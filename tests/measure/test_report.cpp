// SPDX-License-Identifier: MIT
// The page of a benchmark: units, the name of the bound, points within the frame, and no column
// that says nothing.
#include <gtest/gtest.h>

#include <algorithm>

#include "measure/run.h"

namespace weft::measure {
namespace {

Machine machine() {
  Machine m;
  m.device = Device::cpu();
  m.name = "a machine";
  m.bandwidth = 20e9;
  m.copy = 15e9;
  m.fp32 = 90e9;
  return m;
}

// A row that takes 1 ms and is right.
Row row(const std::string& family, double bytes, double flops, bool by_flops) {
  Row r;
  r.family = family;
  r.problem = "a problem";
  r.name = "a variant";
  r.bytes = bytes;
  r.flops = flops;
  r.by_flops = by_flops;
  r.timing = {1e-3, 1e-3, 1e-3, 30, 1};
  r.verdict.ok = true;
  return r;
}

bool holds(const std::string& page, const std::string& part) {
  return page.find(part) != std::string::npos;
}

TEST(Report, RatesHaveAUnitThatFits) {
  EXPECT_EQ(rate_text(2.5e12, "B/s"), "2.50 TB/s");
  EXPECT_EQ(rate_text(21e9, "B/s"), "21.00 GB/s");
  EXPECT_EQ(rate_text(3e6, "FLOP/s"), "3.00 MFLOP/s");
  const std::string page = report_html({row("histogram", 1e6, 0, false)}, machine());
  EXPECT_TRUE(holds(page, "20.00 GB/s of memory (15.00 GB/s copying), 90.00 GFLOP/s of fp32"));
  EXPECT_FALSE(holds(page, "TB/s"));
}

TEST(Report, TheBoundIsNamedByWhatItComesFrom) {
  const std::string bytes = report_html({row("histogram", 1e6, 0, false)}, machine());
  EXPECT_TRUE(holds(bytes, ">memory bound<"));
  EXPECT_FALSE(holds(bytes, "fp32 bound"));
  const std::string flops = report_html({row("gemm", 1e3, 1e7, true)}, machine());
  EXPECT_TRUE(holds(flops, ">fp32 bound<"));
}

TEST(Report, APointAboveItsRoofIsInTheFrame) {
  constexpr double kTop = 20, kBottom = 300;
  const std::string page = report_html({row("gemm", 1e6, 5e9, true)}, machine());  // 5 TFLOP/s
  const std::size_t at = page.find("cy=\"");
  ASSERT_NE(at, std::string::npos);
  const double y = std::stod(page.substr(at + 4));
  EXPECT_GE(y, kTop);
  EXPECT_LE(y, kBottom);
}

TEST(Report, TheColumnOfYardsticksIsThereWithThem) {
  Row peer = row("gemm", 1e6, 1e7, true);
  peer.peer = true;
  peer.name = "a library";
  const std::string without = report_html({row("gemm", 1e6, 1e7, true)}, machine());
  const std::string with = report_html({row("gemm", 1e6, 1e7, true), peer}, machine());
  EXPECT_FALSE(holds(without, "yardstick"));
  EXPECT_TRUE(holds(with, "<th>of best yardstick</th>"));
  for (const std::string* page : {&without, &with}) {
    std::size_t headings = 0, cells = 0;
    for (std::size_t at = 0; (at = page->find("<th>", at)) != page->npos; ++at) ++headings;
    for (std::size_t at = 0; (at = page->find("<td", at)) != page->npos; ++at) ++cells;
    EXPECT_EQ(cells, headings * (page == &with ? 2u : 1u));
  }
}

TEST(Report, NamesAreText) {
  Machine named = machine();
  named.name = "</title><script>alert(1)</script>\x1b[5m";
  Row wrong = row("gather", 1e6, 0, false);
  wrong.name = "<img src=x>\u202e";
  wrong.error = "<b>\n";
  Row timed = row("gather", 1e6, 0, false);
  timed.problem = "\"><i>";
  const std::string page = report_html({wrong, timed}, named);
  for (const char* part : {"<script", "<img", "<b>", "<i>", "\x1b", "\u202e"}) {
    EXPECT_FALSE(holds(page, part)) << part;
  }
  for (const char* part : {"&lt;script&gt;alert(1)", "\\x1b[5m", "&lt;img src=x&gt;\\u202e",
                           "&lt;b&gt;\\n", "default-src 'none'; script-src 'none'"}) {
    EXPECT_TRUE(holds(page, part)) << part;
  }
  EXPECT_TRUE(holds(row_json(wrong, named), "\\u202e"));
}

}  // namespace
}  // namespace weft::measure
