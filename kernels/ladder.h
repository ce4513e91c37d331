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
#include <cstdint>
#include <limits>
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

// The work of a problem: its operations, or its elements where it has no operations.
struct WorkLimit {
  double cpu = kNone, gpu = kNone;
  static constexpr double kNone = std::numeric_limits<double>::infinity();
};

// How a benchmark calls a rung in one of several modes.
struct NamedMode {
  std::string_view name;
  ComputeMode mode;
};

// A row of an array in shared memory, in bytes.
struct PaddedRow {
  std::uint32_t bytes = 0, padding = 0;  // of the bytes, those that hold nothing
};

struct Rung {
  std::string_view name;     // the technique: "tiled"
  std::string_view summary;  // one sentence: what this rung changes and teaches
  std::string_view prefer;   // a clause: when to take it
  // What it is a version of, in a family of several operations: "box_blur".
  std::string_view operation = "";
  bool on_cpu = false;
  bool on_cuda = true;          // Is there a CUDA version? The same in every build.
  int compute_capability = 0;   // the least: 80 for sm_80; 0 for any that Weft supports
  bool exactly_sm_90a = false;  // it needs Hopper's own instructions, which no later GPU has
  ArithmeticByMode arithmetic = always(Arithmetic::fp32);  // on a GPU
  std::string_view needs = "";  // conditions on the shape, for a reader; takes() checks them
  WorkLimit bench_up_to = {};   // it takes minutes for more, and teaches nothing new
  std::span<const NamedMode> modes = {};  // where a benchmark has a row for each mode
  PaddedRow padded = {};                  // none, or what `watch` counts without its padding

  constexpr bool on_host_cuda() const { return on_cuda && compute_capability < 90; }
};

// The rungs of a family in teaching order, whatever else the rows of its table hold.
class Rungs {
 public:
  constexpr explicit Rungs(std::span<const Rung* const> rungs) : rungs_(rungs) {}

  struct Iterator {
    const Rung* const* at;
    const Rung& operator*() const { return **at; }
    Iterator& operator++() { return ++at, *this; }
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  Iterator begin() const { return {rungs_.data()}; }
  Iterator end() const { return {rungs_.data() + rungs_.size()}; }
  std::size_t size() const { return rungs_.size(); }
  const Rung& operator[](std::size_t i) const { return *rungs_[i]; }
  const Rung* find(std::string_view name) const;  // null when there is none

 private:
  std::span<const Rung* const> rungs_;
};

// The operation of a rung, of an enumeration whose names are these; empty where there is no rung.
template <class Operation, std::size_t kNames>
std::optional<Operation> operation_of(const Rung* rung, const std::string_view (&names)[kNames]) {
  for (std::size_t i = 0; rung != nullptr && i < kNames; ++i) {
    if (names[i] == rung->operation) return static_cast<Operation>(i);
  }
  return std::nullopt;
}
// Why a rung does not compute an operation of its family; empty when it does.
std::string other_operation(const Rung& rung, std::string_view asked);

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
  // Is it there if the rung runs on GPUs, and then called so?
  constexpr bool there_if(const Rung& rung, std::string_view prefix) const {
    return rung.on_cuda == static_cast<bool>(*this) && belongs_to(prefix, rung.name);
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

// WEFT_CUDA(name) is the address of a function that a .cu file defines and a header declares. In a
// build without CUDA it is that of one which throws Error{device} instead.
#ifdef WEFT_WITH_CUDA
#define WEFT_CUDA(name) (&name)
#else
#define WEFT_CUDA(name) (::weft::kernels::ladder::refusing(static_cast<decltype(&name)>(nullptr)))
#endif

namespace ladder {

[[noreturn]] void throw_without_cuda();
template <class Result, class... Parameters>
constexpr auto refusing(Result (*)(Parameters...)) -> Result (*)(Parameters...) {
  return [](Parameters...) -> Result { throw_without_cuda(); };
}

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
// The table is a constant: what it states wrongly does not compile. Without a function that
// chooses, `automatic` is the last row that runs on the device.
template <class Row, std::size_t kRows>
class Ladder {
 public:
  using Problem = typename Row::Problem;
  using Automatic = Choice (*)(const Problem&, Device);

  consteval Ladder(std::string_view family, const Row (&rows)[kRows], Automatic automatic = nullptr)
      : family_(family), rows_(rows), automatic_(automatic) {
    for (std::size_t i = 0; i < kRows; ++i) {
      const Rung& rung = rows[i].rung;
      rungs_[i] = &rung;
      if (rung.name.empty() || rung.name == kAutomatic) throw "a rung has no name";
      if (rung.summary.empty() || rung.prefer.empty()) throw "a rung lacks a sentence";
      if (!rung.on_cpu && !rung.on_cuda) throw "a rung runs nowhere";
      if (!rows[i].complete()) throw "a launcher is missing or named after another rung";
      for (std::size_t j = 0; j < i; ++j) {
        if (rows[j].rung.name == rung.name) throw "two rungs have the same name";
      }
    }
  }

  Rungs rungs() const { return Rungs(rungs_); }
  std::span<const Row> rows() const { return rows_; }

  const Row* find(std::string_view name) const {  // null when there is none
    for (const Row& row : rows_) {
      if (row.rung.name == name) return &row;
    }
    return nullptr;
  }
  // A member of the row of this name; empty when there is none.
  template <class Member>
  Member of(std::string_view name, Member Row::*member) const {
    const Row* row = find(name);
    return row == nullptr ? Member{} : row->*member;
  }
  // Throws usage with the names that there are.
  const Row& named(std::string_view name) const {
    if (const Row* row = find(name)) return *row;
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

  Choice choose(const Problem& problem, Device device) const {
    if (automatic_ != nullptr) return automatic_(problem, device);
    for (auto row = rows_.rbegin(); row != rows_.rend(); ++row) {
      // Rungs of other devices are left out without a text, whose memory a call cannot afford.
      const bool is_here = device.is_cpu() ? row->rung.on_cpu : row->rung.on_cuda;
      if (is_here && refusal(*row, problem, device).empty()) {
        return {row->rung.name, row->rung.prefer};
      }
    }
    return {rows_[0].rung.name, rows_[0].rung.prefer};
  }

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
  std::array<const Rung*, kRows> rungs_ = {};
  Automatic automatic_;
};

}  // namespace weft::kernels
