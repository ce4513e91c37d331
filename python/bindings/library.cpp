// SPDX-License-Identifier: MIT
// Which library an array is from, and what a forked process may still do.
#include <pthread.h>

#include <string_view>
#include <utility>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

Library library_named(std::string_view module) {
  const std::string_view package = module.substr(0, module.find('.'));
  if (package == "torch") return Library::torch;
  if (package == "cupy") return Library::cupy;
  if (package == "jax" || package == "jaxlib") return Library::jax;
  return Library::none;
}

// A class may derive from one of a library.
Library library_of_type(nb::handle type) {
  for (const nb::handle base : nb::borrow<nb::tuple>(type.attr("__mro__"))) {
    const nb::object module = nb::getattr(base, "__module__", nb::none());
    if (!nb::isinstance<nb::str>(module)) continue;
    const Library library = library_named(nb::borrow<nb::str>(module).c_str());
    if (library != Library::none) return library;
  }
  return Library::none;
}

// The answers for the types that were seen, which are kept alive. With the GIL.
Library remembered(nb::handle type) {
  static auto* known = new std::vector<std::pair<PyObject*, Library>>();
  for (const auto& [seen, library] : *known) {
    if (seen == type.ptr()) return library;
  }
  const Library library = library_of_type(type);
  constexpr std::size_t kMost = 64;
  if (known->size() < kMost) known->emplace_back(nb::borrow(type).release().ptr(), library);
  return library;
}

}  // namespace

Library library_of(nb::handle array) noexcept {
  try {
    const Library library = remembered(array.type());
    if (library == Library::jax) array.attr("block_until_ready")();
    return library;
  } catch (...) {
    return Library::none;
  }
}

void survive_forks() {
#if defined(_OPENMP) && defined(__GNUC__) && !defined(__clang__)
  pthread_atfork([] { omp_pause_resource_all(omp_pause_soft); }, nullptr, nullptr);
#endif
}

}  // namespace weft::python
