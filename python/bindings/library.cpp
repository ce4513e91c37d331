// SPDX-License-Identifier: MIT
// Finds the library that an array is from and what else it is beside its numbers, and says what a
// forked process may still do.
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

// What is asked of a type once.
struct Traits {
  Library library = Library::none;
  bool plain = false;   // NumPy's own array, which has neither a mask nor a gradient
  bool masked = false;  // numpy.ma.MaskedArray
};

// A class may derive from one of a library.
Traits traits_of_type(nb::handle type) {
  Traits traits;
  for (const nb::handle base : nb::borrow<nb::tuple>(type.attr("__mro__"))) {
    const nb::object module = nb::getattr(base, "__module__", nb::none());
    if (!nb::isinstance<nb::str>(module)) continue;
    const std::string_view name = nb::borrow<nb::str>(module).c_str();
    const nb::str of_class(base.attr("__name__"));
    if (traits.library == Library::none) traits.library = library_named(name);
    traits.masked |= std::string_view(of_class.c_str()) == "MaskedArray";
    traits.plain |=
        base.is(type) && name == "numpy" && std::string_view(of_class.c_str()) == "ndarray";
  }
  return traits;
}

// The answers for the types that were seen, which are kept alive. With the GIL.
Traits remembered(nb::handle type) {
  static auto* known = new std::vector<std::pair<PyObject*, Traits>>();
  for (const auto& [seen, traits] : *known) {
    if (seen == type.ptr()) return traits;
  }
  const Traits traits = traits_of_type(type);
  constexpr std::size_t kMost = 64;
  if (known->size() < kMost) known->emplace_back(nb::borrow(type).release().ptr(), traits);
  return traits;
}

bool is_true(nb::handle object, const char* attribute) {
  return nb::getattr(object, attribute, nb::none()).ptr() == Py_True;
}

// Would autograd have noted this call, had PyTorch made it? Not under torch.no_grad(), nor in the
// forward() of a torch.autograd.Function.
bool loses_gradient(nb::handle array, Library library) {
  if (!is_true(array, "requires_grad")) return false;
  return library != Library::torch ||
         nb::cast<bool>(nb::module_::import_("torch").attr("is_grad_enabled")());
}

std::string text_of(const nb::object& object) {
  return nb::str(object).c_str();
}

// "a list", "None", "a pandas.core.frame.DataFrame".
std::string kind_of(nb::handle object) {
  if (object.is_none()) return "None";
  const nb::handle type = object.type();
  const std::string module = text_of(type.attr("__module__"));
  const std::string name = text_of(type.attr("__qualname__"));
  const std::string full = module == "builtins" ? name : module + "." + name;
  return (std::string_view("aeio").find(full.front()) == std::string_view::npos ? "a " : "an ") +
         full;
}

// "float32 (2, 3)" of an object that says so, or "".
std::string dtype_and_shape(nb::handle object) {
  if (!nb::hasattr(object, "dtype") || !nb::hasattr(object, "shape")) return {};
  return text_of(object.attr("dtype")) + " " + text_of(nb::tuple(object.attr("shape")));
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Why an object with __dlpack__ gives no array, in its own words; "" when it does give one.
std::string own_words(nb::handle object) {
  try {
    object.attr("__dlpack__")();
  } catch (nb::python_error& error) {
    return first_line(text_of(nb::borrow(error.value())));
  }
  return {};
}

// What is wrong with an object that gives no array: the end of a sentence that its name begins.
std::string problem_of(const Argument& argument) {
  const nb::handle source = argument.source;
  const std::string expected = ", expected " + argument.expected;
  const std::string described = dtype_and_shape(source);
  if (remembered(source.type()).plain) {
    if (argument.written && !nb::cast<bool>(source.attr("flags").attr("writeable"))) {
      return str("is read-only, expected a writable array of ", argument.expected);
    }
    const bool swapped = described.starts_with('>');  // NumPy names the order of other machines
    return str(
        "is ", described, expected,
        swapped ? " in the order of bytes of this machine; astype makes a copy that has it" : "");
  }
  const bool gives = nb::hasattr(source, "__dlpack__");
  const std::string words = gives ? own_words(source) : std::string();
  const std::string kind = kind_of(source);
  if (!words.empty()) return str("is ", kind, ", which gives no array: ", words);
  if (gives || PyObject_CheckBuffer(source.ptr()) != 0) {
    return str("is ", kind, described.empty() ? "" : " of ", described, expected,
               argument.written ? ", a writable array" : "");
  }
  const bool converts = nb::isinstance<nb::list>(source) || nb::isinstance<nb::tuple>(source) ||
                        nb::hasattr(source, "__array__");
  return str("is ", kind,
             argument.written ? ", expected a writable array of " : ", expected an array of ",
             argument.expected, converts && !argument.written ? "; numpy.asarray makes one" : "");
}

[[noreturn]] void refuse(const Argument& argument, const std::string& problem) {
  throw nb::type_error(str(argument.call, ": ", argument.what, " ", problem).c_str());
}

}  // namespace

Library library_of(nb::handle array) noexcept {
  try {
    const Library library = remembered(array.type()).library;
    if (library == Library::jax) array.attr("block_until_ready")();
    return library;
  } catch (...) {
    return Library::none;
  }
}

void check_argument(const Argument& argument) {
  const Traits traits = remembered(argument.source.type());
  if (traits.plain && argument.is_array) return;
  const std::string what = argument.what;
  if (traits.masked) {
    refuse(argument, str("is a masked array, and its mask would be lost; ", what,
                         ".filled(value) makes an array without one"));
  }
  if (loses_gradient(argument.source, traits.library)) {
    refuse(argument,
           argument.written
               ? str("requires a gradient, and Weft would write into it behind autograd's back; "
                     "pass ",
                     what, ".detach(), or call it under torch.no_grad()")
               : str("requires a gradient, which would be lost; pass ", what, ".detach()"));
  }
  if (!argument.is_array) refuse(argument, problem_of(argument));
  if (traits.library == Library::torch && nb::cast<bool>(argument.source.attr("is_neg")())) {
    refuse(argument, str("has its sign in a flag; pass ", what, ".resolve_neg()"));
  }
}

std::string contiguous_hint(const char* what, Library library) {
  switch (library) {
    case Library::torch:
      return str(what, ".contiguous() makes a copy that is");
    case Library::cupy:
      return str("cupy.ascontiguousarray(", what, ") makes a copy that is");
    case Library::jax:
    case Library::none:
      break;
  }
  return str("numpy.ascontiguousarray(", what, ") makes a copy that is");
}

std::string dtype_hint(const char* what, Library library, nb::dlpack::dtype expected) {
  const std::string name = dtype_name(expected);
  switch (library) {
    case Library::torch:
      return str("; ", what, ".to(torch.", name, ") is");
    case Library::cupy:
    case Library::jax:
      return str("; ", what, ".astype(\"", name, "\") is");
    case Library::none:
      break;
  }
  return str("; numpy.asarray(", what, ", \"", name, "\") is");
}

nb::object in_dtype(const nb::object& array, Library library, std::string_view dtype) {
  const auto numpy = [](const nb::object& object) {
    const bool exports = nb::hasattr(object, "__dlpack__") && !nb::hasattr(object, "__array__");
    return nb::module_::import_("numpy").attr(exports ? "from_dlpack" : "asarray")(object);
  };
  if (dtype == "bool") {
    const nb::object above = array.attr("__gt__")(0);
    return library == Library::none ? numpy(above)
                                    : above;  // which has made a scalar of one number
  }
  const bool integer = dtype == "int";
  const nb::str name(dtype.data(), dtype.size());
  if (library == Library::torch) {
    return array.attr("to")(nb::module_::import_("torch").attr(integer ? nb::str("int64") : name));
  }
  const nb::object type =
      integer ? nb::borrow(reinterpret_cast<PyObject*>(&PyLong_Type)) : nb::object(name);
  return (library == Library::none ? numpy(array) : array).attr("astype")(type);
}

void tell_autograd(nb::handle changed) {
  if (remembered(changed.type()).library != Library::torch) return;
  if (nb::cast<bool>(changed.attr("is_inference")())) return;  // these have no versions
  nb::module_::import_("torch.autograd.graph").attr("increment_version")(changed);
}

void survive_forks() {
#if defined(_OPENMP) && defined(__GNUC__) && !defined(__clang__)
  pthread_atfork([] { omp_pause_resource_all(omp_pause_soft); }, nullptr, nullptr);
#endif
}

}  // namespace weft::python
