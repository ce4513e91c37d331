// SPDX-License-Identifier: MIT
// A call of a public kernel function as data: its arrays, its workspace, and values that it
// refuses. check_call_of() makes the call rightly, and then wrongly in every way that
// kernels/common.h names.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/reach.h"
#include "kernels/checks.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {

// An array that a call reads or writes.
struct CallArray {
  std::string name;
  std::size_t bytes, element;
  bool written;
  std::size_t alignment = element;
  bool optional = false;
  std::string twin = "";  // the array that it may be

  CallArray or_null() const { return with(&CallArray::optional, true); }
  CallArray may_be(std::string other) const { return with(&CallArray::twin, std::move(other)); }
  CallArray aligned_to(std::size_t bytes_) const { return with(&CallArray::alignment, bytes_); }

 private:
  template <class T>
  CallArray with(T CallArray::*member, T value) const {
    CallArray changed = *this;
    changed.*member = value;
    return changed;
  }
};
template <class T = float>
CallArray in(std::string name, std::int64_t elements) {
  return {std::move(name), static_cast<std::size_t>(elements) * sizeof(T), sizeof(T), false};
}
template <class T = float>
CallArray out(std::string name, std::int64_t elements) {
  return {std::move(name), static_cast<std::size_t>(elements) * sizeof(T), sizeof(T), true};
}

// What a call is made with.
class CallArguments {
 public:
  explicit CallArguments(const Stream& on) : stream(on) {}

  template <class T = float>
  T* at(std::string_view name) const {
    for (const auto& [known, pointer] : pointers) {
      if (known == name) return static_cast<T*>(pointer);
    }
    throw std::logic_error("no array " + std::string(name));
  }
  void set(const std::string& name, void* pointer) {
    for (auto& [known, known_pointer] : pointers) {
      if (known == name) known_pointer = pointer;
    }
  }

  const Stream& stream;
  std::vector<std::pair<std::string, void*>> pointers;
  kernels::Workspace workspace;
};

using RunCall = std::function<void(const CallArguments&)>;

struct KernelCall {
  std::string_view function;  // as its header names it
  std::vector<CallArray> arrays;
  RunCall run;
  // Calls that are refused whatever the pointers, by a word of their message: no enumerators,
  // numbers that are not finite.
  std::vector<std::pair<std::string_view, RunCall>> refused = {};
  std::function<std::size_t(Device)> workspace_bytes = {};
  std::size_t workspace_alignment = kernels::kWorkspaceAlignment;
  std::function<bool(Device)> runs_on = [](Device) { return true; };
};

// Arrays of a call in one block of memory, all zero, with room around each.
class CallMemory {
 public:
  CallMemory(const KernelCall& call, const Stream& stream)
      : call_(call),
        room_(room_of(call, stream.device())),
        memory_(room_ * (call.arrays.size() + 1), stream),
        host_(room_),
        arguments_(stream) {
    zero_bytes(memory_.data(), memory_.bytes(), stream);
    if (call.workspace_bytes) workspace_ = call.workspace_bytes(stream.device());
    reset();
  }

  // Everything where it belongs.
  CallArguments& reset() {
    arguments_.pointers.clear();
    char* next = static_cast<char*>(memory_.data());
    for (const CallArray& array : call_.arrays) {
      arguments_.pointers.emplace_back(array.name, next);
      next += room_;
    }
    arguments_.workspace = {workspace_ == 0 ? nullptr : next, workspace_};
    return arguments_;
  }
  std::size_t workspace_bytes() const { return workspace_; }
  void* host() { return host_.data(); }

 private:
  static std::size_t room_of(const KernelCall& call, Device device) {
    std::size_t most = call.workspace_bytes ? call.workspace_bytes(device) : 0;
    for (const CallArray& array : call.arrays) most = std::max(most, array.bytes);
    return (most + 1024) / 256 * 256;
  }

  const KernelCall& call_;
  std::size_t room_, workspace_ = 0;
  Buffer memory_;
  std::vector<double> host_;
  CallArguments arguments_;
};

// Does the call throw usage with a line that has all these words?
inline void expect_refused(const KernelCall& call, const RunCall& run,
                           const CallArguments& arguments, const std::vector<std::string>& words,
                           const std::string& why) {
  try {
    run(arguments);
    ADD_FAILURE() << call.function << " accepts " << why;
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::usage) << call.function << ", " << why << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string& word : words) {
      EXPECT_NE(message.find(word), std::string::npos)
          << call.function << ", " << why << ", has no \"" << word << "\": " << message;
    }
  }
}

inline void expect_taken(const KernelCall& call, const CallArguments& arguments,
                         const std::string& why) {
  try {
    call.run(arguments);
    arguments.stream.synchronize();
  } catch (const Error& error) {
    ADD_FAILURE() << call.function << " refuses " << why << ": " << error.what();
  }
}

inline void check_pairs_of(const KernelCall& call, CallMemory& memory) {
  const std::string name(call.function);
  for (const CallArray& a : call.arrays) {
    for (const CallArray& b : call.arrays) {
      if (a.name == b.name || !(a.written || b.written)) continue;
      CallArguments& arguments = memory.reset();
      char* const other = arguments.at<char>(b.name);
      arguments.set(a.name, other);
      if (a.twin == b.name || b.twin == a.name) {
        expect_taken(call, arguments, a.name + " == " + b.name);
      } else {
        expect_refused(call, call.run, arguments, {name, a.name, b.name}, a.name + " == " + b.name);
      }
      const std::size_t step = std::max(a.alignment, b.alignment);
      if (step >= b.bytes) continue;
      arguments.set(a.name, other + step);
      expect_refused(call, call.run, arguments, {name, a.name, b.name},
                     a.name + " inside " + b.name);
    }
  }
}

inline void check_workspace_of(const KernelCall& call, CallMemory& memory) {
  if (!call.workspace_bytes) return;
  CallArguments& arguments = memory.reset();
  if (memory.workspace_bytes() == 0) {
    arguments.workspace = {nullptr, 4096};
    return expect_refused(call, call.run, arguments, {"workspace"}, "bytes without memory");
  }
  const kernels::Workspace right = arguments.workspace;
  const auto with = [&](void* data, std::size_t bytes, const std::string& why) {
    arguments.workspace = {data, bytes};
    expect_refused(call, call.run, arguments, {"workspace"}, why);
  };
  with(nullptr, right.bytes, "a workspace without memory");
  with(right.data, right.bytes - 1, "a workspace that is too small");
  with(static_cast<char*>(right.data) + call.workspace_alignment / 2, right.bytes,
       "a workspace that is not aligned");
  for (const CallArray& array : call.arrays) {
    with(arguments.at<char>(array.name), right.bytes, "a workspace in " + array.name);
  }
}

inline void check_call_of(const KernelCall& call, const Stream& stream) {
  SCOPED_TRACE(call.function);
  const std::string name(call.function);
  CallMemory memory(call, stream);
  expect_taken(call, memory.reset(), "what is right");
  for (const CallArray& array : call.arrays) {
    CallArguments& arguments = memory.reset();
    char* const right = arguments.at<char>(array.name);
    arguments.set(array.name, nullptr);
    if (array.optional) {
      expect_taken(call, arguments, "no " + array.name);
    } else {
      expect_refused(call, call.run, arguments, {array.name}, array.name + " = null");
    }
    if (array.alignment > 1) {
      arguments.set(array.name, right + array.alignment / 2);
      expect_refused(call, call.run, arguments, {name, array.name}, array.name + " misaligned");
    }
    if (!reaches(stream.device(), memory.host())) {
      arguments.set(array.name, memory.host());
      expect_refused(call, call.run, arguments, {name, array.name, "host"},
                     array.name + " on the host");
    }
  }
  check_pairs_of(call, memory);
  check_workspace_of(call, memory);
  for (const auto& [word, run] : call.refused) {
    expect_refused(call, run, memory.reset(), {std::string(word)}, "a wrong " + std::string(word));
  }
}

}  // namespace weft::test
