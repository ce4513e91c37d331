// SPDX-License-Identifier: MIT
// The ladder of a kernel family: a table with one row for each rung. A row holds all that is known
// of its rung. Listing, finding by name, refusing and choosing are written once here, over that
// table; tests, benchmarks, the command line and the pages read the same rows.
//
// To add a rung, write its file kernels/FAMILY/rungs/NAME.cu, which defines the launcher
// FAMILY_NAME(), and add a row to the table in kernels/FAMILY/FAMILY.cpp. A launcher that is not
// there does not link, a row whose launcher has another name does not compile, and a file without
// a row fails the test Ladders.EveryFileOfARungHasARow.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/error.h"
#include "kernels/common.h"

namespace weft::kernels {

// A call names a rung, or leaves the choice to the family.
inline constexpr std::string_view kAutomatic = "automatic";

// What the products of a kernel are computed in. Sums are fp32 in all of them. tf32x3 and fp16x3
// are as accurate as fp32: they make three products, of tf32 or of scaled fp16.
enum class Arithmetic { fp32, tf32, bf16, tf32x3, fp16x3 };
std::string_view name_of(Arithmetic arithmetic);

// What a rung computes in when its caller accepts a ComputeMode. Empty: the mode asks for more
// accuracy than the rung has.
struct ArithmeticByMode {
  std::optional<Arithmetic> fp32, tf32, bf16;

  constexpr std::optional<Arithmetic> in(ComputeMode mode) const {
    return mode == ComputeMode::fp32 ? fp32 : mode == ComputeMode::tf32 ? tf32 : bf16;
  }
};
constexpr ArithmeticByMode always(Arithmetic arithmetic) {
  return {arithmetic, arithmetic, arithmetic};
}

struct Rung {
  std::string_view name;     // the technique: "tiled"
  std::string_view summary;  // one sentence: what this rung changes and teaches
  std::string_view prefer;   // a clause: when to take it
  bool on_cpu = false;
  bool on_cuda = true;          // Is there a CUDA version? The same in every build.
  int compute_capability = 0;   // the least: 80 for sm_80; 0 for any that Weft supports
  bool exactly_sm_90a = false;  // it needs Hopper's own instructions, which no later GPU has
  ArithmeticByMode arithmetic = always(Arithmetic::fp32);  // on a GPU
  std::string_view needs = "";  // conditions on the shape, for a reader; takes() checks them

  constexpr bool on_host_cuda() const { return on_cuda && compute_capability < 90; }
};

// The rungs of a family in teaching order, whatever else the rows of its table hold.
class Rungs {
 public:
  template <class Row>
  constexpr explicit Rungs(std::span<const Row> rows)
      : first_(rows.empty() ? nullptr : &rows[0].rung), stride_(sizeof(Row)), size_(rows.size()) {}

  explicit Rungs(std::span<const Rung> rungs)  // of a family without choices: one rung a function
      : first_(rungs.data()), stride_(sizeof(Rung)), size_(rungs.size()) {}

  struct Iterator {
    const std::byte* at;
    std::size_t stride;
    const Rung& operator*() const { return *reinterpret_cast<const Rung*>(at); }
    Iterator& operator++() { return at += stride, *this; }
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  Iterator begin() const { return {reinterpret_cast<const std::byte*>(first_), stride_}; }
  Iterator end() const { return {begin().at + stride_ * size_, stride_}; }
  std::size_t size() const { return size_; }
  const Rung& operator[](std::size_t i) const { return *Iterator{begin().at + i * stride_, 0}; }
  const Rung* find(std::string_view name) const;  // null when there is none

 private:
  const Rung* first_;
  std::size_t stride_, size_;
};

// What `automatic` takes, and why: a clause for a reader.
struct Choice {
  std::string_view rung, reason;
};

// A function that the file of a rung defines. Without CUDA only its name is there.
template <class Function>
struct Launcher {
  Function* run = nullptr;
  std::string_view name = {};

  constexpr explicit operator bool() const { return !name.empty(); }
  // Is it absent, or called `prefix` followed by the name of the rung?
  constexpr bool belongs_to(std::string_view prefix, std::string_view rung) const {
    return name.empty() || is(prefix, rung);
  }
  // Is it there, and called so?
  constexpr bool is(std::string_view prefix, std::string_view rung) const {
    return name.starts_with(prefix) && name.substr(prefix.size()) == rung;
  }
};

// WEFT_LAUNCHER(Function, name) declares the function in the namespace of the table and takes its
// address.
#ifdef WEFT_WITH_CUDA
#define WEFT_LAUNCHER(Function, name)                        \
  ([] {                                                      \
    Function name;                                           \
    return ::weft::kernels::Launcher<Function>{name, #name}; \
  }())
#else
#define WEFT_LAUNCHER(Function, name) (::weft::kernels::Launcher<Function>{nullptr, #name})
#endif

namespace ladder {

// Why a rung cannot run on a device in a mode, whatever the shape; empty when it can.
std::string refusal(const Rung& rung, ComputeMode mode, Device device);
[[noreturn]] void throw_unknown(std::string_view family, std::string_view name, Rungs rungs);
[[noreturn]] void throw_refused(std::string_view family, const Rung& rung,
                                const std::string& reason, const Choice& instead);

template <class Problem>
ComputeMode mode_of(const Problem& problem) {
  if constexpr (requires { problem.mode; }) {
    return problem.mode;
  } else {
    return ComputeMode::fp32;
  }
}

}  // namespace ladder

// A Row has a member `rung`, a type Problem (what is known of a call), and
//   bool complete() const                                  every launcher is named after the rung
//   std::string takes(const Problem&, Device) const        why not; empty when it takes the problem
// The table is a constant: what it states wrongly does not compile.
template <class Row>
class Ladder {
 public:
  using Problem = typename Row::Problem;
  using Automatic = Choice (*)(const Problem&, Device);

  template <std::size_t kRows>
  consteval Ladder(std::string_view family, const Row (&rows)[kRows], Automatic automatic)
      : family_(family), rows_(rows), automatic_(automatic) {
    for (std::size_t i = 0; i < kRows; ++i) {
      const Rung& rung = rows[i].rung;
      if (rung.name.empty() || rung.name == kAutomatic) throw "a rung has no name";
      if (rung.summary.empty() || rung.prefer.empty()) throw "a rung lacks a sentence";
      if (!rung.on_cpu && !rung.on_cuda) throw "a rung runs nowhere";
      if (!rows[i].complete()) throw "a launcher is missing or named after another rung";
      for (std::size_t j = 0; j < i; ++j) {
        if (rows[j].rung.name == rung.name) throw "two rungs have the same name";
      }
    }
  }

  Rungs rungs() const { return Rungs(rows_); }
  std::span<const Row> rows() const { return rows_; }

  // Throws usage with the names that there are.
  const Row& named(std::string_view name) const {
    for (const Row& row : rows_) {
      if (row.rung.name == name) return row;
    }
    ladder::throw_unknown(family_, name, rungs());
  }

  // Why a row cannot run a problem on a device; empty when it can.
  std::string refusal(const Row& row, const Problem& problem, Device device) const {
    std::string reason = ladder::refusal(row.rung, ladder::mode_of(problem), device);
    return reason.empty() ? row.takes(problem, device) : reason;
  }
  bool takes(std::string_view name, const Problem& problem, Device device) const {
    return name == kAutomatic || refusal(named(name), problem, device).empty();
  }

  Choice choose(const Problem& problem, Device device) const { return automatic_(problem, device); }

  // The row that runs a problem: the one that `automatic` takes, or the named one and no other.
  // Throws usage with the reason, and the rung that would do, when that one cannot.
  const Row& select(std::string_view name, const Problem& problem, Device device) const {
    if (name == kAutomatic) return named(choose(problem, device).rung);
    const Row& row = named(name);
    const std::string reason = refusal(row, problem, device);
    if (!reason.empty()) {
      ladder::throw_refused(family_, row.rung, reason, choose(problem, device));
    }
    return row;
  }

 private:
  std::string_view family_;
  std::span<const Row> rows_;
  Automatic automatic_;
};

}  // namespace weft::kernels
