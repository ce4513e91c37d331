// SPDX-License-Identifier: MIT
// What `weft lab` makes of kernel<<<grid, block, shared, stream>>>(arguments).
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "host_cuda/language/runtime_api.h"

#define WEFT_LAB_CUDA_VERSION 12000  // what the lab calls itself: CUDA 12.0

namespace weft::host_cuda::lab {

// What stands between <<< and >>>, and where.
struct Configuration {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
  const char* file;
  int line;
  bool cooperative = false;
};

// Runs the grid, or where a kernel launches, has it run behind the kernel's grid. A finding is
// printed, and ends the program with exit code 1. A launch that cannot be is remembered for
// cudaGetLastError(), as on a GPU.
cudaError_t run(const Configuration& at, std::shared_ptr<const Call> call);
// While a thread of a kernel makes a launch, it does not run the kernel's own code.
class Launching {
 public:
  Launching();
  Launching(const Launching&) = delete;
  Launching& operator=(const Launching&) = delete;
  ~Launching();

 private:
  bool in_kernel_;
};
// Beyond 48 KiB, the kernel's limit has to be raised. (The address of a kernel that is a template
// and deduces its arguments is not known.)
bool shared_memory_allowed(const Call& call, std::size_t bytes);
cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value);

// A call of a function template that deduces its arguments.
template <class Function, class... Arguments>
class DeducedCall : public Call {
 public:
  DeducedCall(const char* name, Function function, Arguments... arguments)
      : name_(name), function_(function), arguments_(std::move(arguments)...) {}

  void run() const override { std::apply(function_, arguments_); }
  const void* kernel() const override { return name_; }
  const char* name() const override { return name_; }
  std::size_t bytes() const override { return sizeof(*this); }
  std::vector<const void*> pointers() const override {
    return std::apply(
        [](const auto&... all) { return std::vector<const void*>{pointer_in(all)...}; },
        arguments_);
  }

 private:
  const char* name_;
  Function function_;
  std::tuple<Arguments...> arguments_;
};

template <class... Parameters>
class PointerLaunch {
 public:
  PointerLaunch(void (*kernel)(Parameters...), const Configuration& at)
      : kernel_(kernel), at_(at) {}
  void operator()(Parameters... arguments) const {
    const Launching here;
    run(at_, std::make_shared<const KernelCall<Parameters...>>(kernel_, arguments...));
  }

 private:
  void (*kernel_)(Parameters...);
  Configuration at_;
};

// The kernel of a template for these types of parameters.
template <class Function>
struct As {
  Function* operator()(Function* kernel) const { return kernel; }
};
// The kernel of a name that only one has.
struct TheOnlyOne {
  template <class... Parameters>
  auto operator()(void (*kernel)(Parameters...)) const {
    return kernel;
  }
};
template <class...>
struct Types {};

// Finds the kernel whose parameters have the types of the arguments, pointers to const among them;
// else null.
template <class Find, class... Parameters>
constexpr auto found(Find find, Types<Parameters...>, Types<>) {
  if constexpr (std::is_invocable_v<Find, As<void(Parameters...)>>) {
    return find(As<void(Parameters...)>());
  } else {
    return nullptr;
  }
}
template <class Find, class... Parameters, class Next, class... More>
constexpr auto found(Find find, Types<Parameters...>, Types<Next, More...>) {
  const auto kernel = found(find, Types<Parameters..., Next>(), Types<More...>());
  if constexpr (std::is_null_pointer_v<std::remove_const_t<decltype(kernel)>> &&
                std::is_pointer_v<Next>) {
    using Constant = const std::remove_pointer_t<Next>*;
    return found(find, Types<Parameters..., Constant>(), Types<More...>());
  } else {
    return kernel;
  }
}

template <class Function, class Find>
class DeducedLaunch {
 public:
  DeducedLaunch(const char* name, Function function, Find find, const Configuration& at)
      : name_(name), function_(function), find_(find), at_(at) {}
  template <class... Arguments>
  void operator()(Arguments&&... arguments) const {
    if constexpr ((is_passed_by_address<std::decay_t<Arguments>>() || ...)) {
      const auto kernel = found(find_, Types<>(), Types<std::decay_t<Arguments>...>());
      if constexpr (!std::is_null_pointer_v<std::remove_const_t<decltype(kernel)>>) {
        return PointerLaunch(kernel, at_)(std::forward<Arguments>(arguments)...);
      }
    }
    using Made = DeducedCall<Function, std::decay_t<Arguments>...>;
    const Launching here;
    run(at_, std::make_shared<const Made>(name_, function_, arguments...));
  }

 private:
  const char* name_;
  Function function_;
  Find find_;
  Configuration at_;
};

template <class Make>
class Kernel {
 public:
  explicit Kernel(Make make) : make_(make) {}
  auto with(dim3 grid, dim3 block, std::size_t shared_bytes = 0, cudaStream_t stream = nullptr,
            const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return make_(Configuration{grid, block, shared_bytes, stream, file, line});
  }

 private:
  Make make_;
};

template <class... Parameters>
auto launching(void (*kernel)(Parameters...)) {
  return Kernel([=](const Configuration& at) { return PointerLaunch<Parameters...>(kernel, at); });
}
// `function` calls the kernel, and `find` returns it for an As.
template <class Function, class Find>
auto launching(const char* name, Function function, Find find) {
  return Kernel([=](const Configuration& at) {
    return DeducedLaunch<Function, Find>(name, function, find, at);
  });
}
// The same of a name that may be one kernel, declared in two spellings, or several.
template <class Function, class Find>
auto launching_one(const char* name, Function function, Find find) {
  if constexpr (std::is_invocable_v<Find, TheOnlyOne>) {
    return launching(find(TheOnlyOne()));
  } else {
    return launching(name, function, find);
  }
}

}  // namespace weft::host_cuda::lab
