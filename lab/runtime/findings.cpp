// SPDX-License-Identifier: MIT
#include "lab/runtime/findings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/text.h"
#include "host_cuda/findings/device_error.h"
#include "host_cuda/findings/findings.h"
#include "host_cuda/printing.h"
#include "host_cuda/sample/sample.h"
#include "lab/record/finding_kinds.h"
#include "lab/record/findings_record.h"
#include "lab/runtime/failures.h"

namespace weft::host_cuda::lab {
namespace {

constexpr int kMost = 20;  // findings, and the program ends, unless it never stops

// Never destroyed: a finding may be behind all destructors.
struct Policy {
  enum class Stop { first, kernel, never } stop = Stop::kernel;
  std::set<std::string> allowed;
  bool is_strict = false;
  int findings = 0;
};
Policy& policy() {
  static auto& made = *new Policy;
  return made;
}

bool is_note(const Told& one) {
  if (policy().allowed.count(weft::lab::flag_name(one.kind)) > 0) return true;
  return one.is_note && !policy().is_strict;
}

// For `weft lab run`, which writes documents of it when the program has ended.
void record() {
  const char* path = std::getenv("WEFT_LAB_FINDINGS");
  if (path == nullptr) return;
  std::vector<weft::lab::FoundRecord> found;
  for (const Told& one : all_findings()) {
    const bool has_grown = is_note(one) && one.kind == kUncheckedKind;
    const std::string& text = has_grown ? left_unchecked(one.kernel) : one.text;
    found.push_back({one.kind, one.kernel, text, one.line, is_note(one), one.more});
  }
  try {
    weft::lab::write_found(found, path);
  } catch (const Error& error) {
    print_error(error.what());
    std::_Exit(error.exit_code());
  }
}

void print_note(const std::string& text) {
  std::fflush(stdout);
  std::fprintf(stderr, "weft: note: host-cuda: %s\n", printable(text).c_str());
}

void print_again() {
  for (const Told& one : all_findings()) {
    if (one.more == 0) continue;
    if (is_note(one)) {
      if (one.kind == kUncheckedKind) print_note(left_unchecked(one.kernel));
      continue;
    }
    print_error(str("host-cuda: ", one.more, " more: ", one.kind,
                    one.kernel.empty() ? "" : " in kernel " + one.kernel,
                    one.line.empty() ? "" : " at " + one.line));
  }
}

[[noreturn]] void end_program() {
  record();
  print_again();
  std::fflush(nullptr);
  leave_counting(static_cast<int>(ErrorKind::check_failed));
  std::_Exit(static_cast<int>(ErrorKind::check_failed));
}

void told(const Told& one) {
  if (running != nullptr) flush_printed(*running->block);
  using Stop = Policy::Stop;
  const bool in_kernel = !one.kernel.empty();
  record();
  if (is_note(one)) return print_note(one.text);
  print_error("host-cuda: " + one.text);
  if (in_kernel) kernel_failed(one.kind);
  const int count = ++policy().findings;
  const bool is_last =
      policy().stop == Stop::first || (policy().stop == Stop::kernel && !in_kernel);
  if (is_last) end_program();
  if (policy().stop == Stop::kernel && count == kMost) {
    print_error(
        str("host-cuda: the program ends at ", kMost, " findings: --stop never shows the others"));
    end_program();
  }
}

void kernel_ended() {
  if (policy().stop == Policy::Stop::kernel && policy().findings > 0) end_program();
}

void takes_long() {
  if (policy().stop != Policy::Stop::kernel || policy().findings == 0) return;
  print_error(
      "host-cuda: the program ends here: a kernel with a finding has run for long; --check all "
      "lets it run to its end");
  end_program();
}

}  // namespace

void begin_findings() {
  if (const char* stop = std::getenv("WEFT_LAB_STOP")) {
    if (std::strcmp(stop, "first") == 0) policy().stop = Policy::Stop::first;
    if (std::strcmp(stop, "never") == 0) policy().stop = Policy::Stop::never;
  }
  if (const char* allow = std::getenv("WEFT_LAB_ALLOW")) {
    std::istringstream kinds(allow);
    for (std::string kind; std::getline(kinds, kind, ',');) policy().allowed.insert(kind);
  }
  policy().is_strict = std::getenv("WEFT_LAB_STRICT") != nullptr;
  const char* const check = std::getenv("WEFT_LAB_CHECK");
  const auto seconds = weft::lab::check_seconds(check != nullptr ? check : "10");
  if (!seconds) {
    print_error("WEFT_LAB_CHECK: expected all, or a number of seconds");
    std::_Exit(static_cast<int>(ErrorKind::usage));
  }
  if (*seconds != weft::lab::kCheckAll) sample_checks(*seconds);
  listen_to_findings({told, kernel_ended, end_program, takes_long});
}

void end_findings() {
  if (policy().findings > 0) end_program();
  record();
  print_again();
}

}  // namespace weft::host_cuda::lab
