// SPDX-License-Identifier: MIT
// One call of a kernel from Python: arrays in, arrays out, and the stream between them.
//
// An array is any object with __dlpack__ or the buffer protocol, and is used in place. It has to be
// dense and row-major. What is no such array is refused in one line that names the argument, as is
// an array that is more than its numbers: one with a mask, or with a gradient that would be lost.
// A call runs where its arrays are: on the CPU, or on the GPU that holds them.
// Its results are arrays of the library that the first one is from.
// In the module for host-cuda the arrays are NumPy's too, and are copied to the memory of that
// device, because it checks every access there.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/error.h"
#include "engine/names.h"
#include "engine/tensor.h"
#include "kernels/common.h"
#include "python/bindings/current_stream.h"

namespace weft::python {

inline constexpr auto kOverwrite = kernels::GradientMode::overwrite;  // results are new arrays

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT: "name"_a

// An argument, which is valid when it gives an array. Buffers are read through a memoryview: those
// of ctypes have no strides, which nanobind reads.
template <class Base>
struct Described : Base {
  using Base::Base;
  Described() = default;
  explicit Described(Base base) : Base(std::move(base)) {}
  Library library = Library::none;
  nb::object source;  // what the caller passed
};
using Array = Described<nb::ndarray<nb::ro>>;
using Writable = Described<nb::ndarray<>>;
using OptionalArray = std::optional<Array>;

// What a call returns: an array of the library that its first array is from, or of NumPy. Its name
// stands in the stubs.
struct Result : nb::object {
  using nb::object::object;
  static constexpr auto Name = nb::detail::const_name("weft._typing.Result");
};
struct Results : nb::object {
  using nb::object::object;
  static constexpr auto Name = nb::detail::const_name("tuple[weft._typing.Result, ...]");
};
// Two or three of them, so that a type checker knows how many.
template <std::size_t kCount>
struct ResultsOf : Results {
  static_assert(kCount == 2 || kCount == 3);
  ResultsOf() = default;
  ResultsOf(Results all) : Results(std::move(all)) {}  // NOLINT: what results() returns
  static constexpr auto Name = nb::detail::const_name<kCount == 2>(
      "tuple[weft._typing.Result, weft._typing.Result]",
      "tuple[weft._typing.Result, weft._typing.Result, weft._typing.Result]");
};
// Counts, and the edges of bins.
struct CountsAndEdges : nb::object {
  using nb::object::object;
  static constexpr auto Name =
      nb::detail::const_name("tuple[weft._typing.Result, numpy.typing.NDArray[numpy.float64]]");
};
// An array of NumPy, whatever the arguments are.
struct NumpyResult : nb::object {
  using nb::object::object;
  static constexpr auto Name = nb::detail::const_name("numpy.typing.NDArray[typing.Any]");
};
using Extents = std::variant<std::int64_t, std::pair<std::int64_t, std::int64_t>>;

// (rows, columns): one number stands for both.
std::pair<std::int64_t, std::int64_t> both(const Extents& extents);
kernels::ComputeMode parse_mode(const std::string& name);  // "fp32", "tf32", "bf16"

std::string dtype_name(nb::dlpack::dtype dtype);  // "float32"

// Throws TypeError, in one line, for an argument that is no array (`is_array` says so), has a mask,
// or has a gradient that the call would lose. `expected`: the dtypes that the call takes.
struct Argument {
  const char* call;
  const char* what;
  nb::handle source;
  bool is_array = true, written = false;
  std::string expected = {};
};
void check_argument(const Argument& argument);
// "numpy.ascontiguousarray(x) makes a copy that is", in the words of the library of an array.
std::string contiguous_hint(const char* what, Library library);
// "; numpy.asarray(x, \"float32\") is", likewise.
std::string dtype_hint(const char* what, Library library, nb::dlpack::dtype expected);
// A copy of an array by its library in the dtype of this name; "int" is the library's own integer,
// and "bool" says where a number is above 0.
nb::object in_dtype(const nb::object& array, Library library, std::string_view dtype);
// Tells PyTorch's autograd that a tensor has other values, so that a backward pass that needs the
// old ones raises.
void tell_autograd(nb::handle changed);

// `text` and the rungs that `variant` may name: those of a family, or of one operation of it. Their
// sentences are those of `weft kernel list`.
std::string with_rungs(std::string_view text, std::string_view family,
                       std::string_view operation = {});

// Does Python ask to stop (Ctrl-C)? Takes the GIL. After `true` the exception of this thread is
// kept until rethrow_interrupt(), which does nothing where there is none.
bool interrupted();
void rethrow_interrupt();

// A dense array in the memory of the device that the call runs on.
template <class T>
struct View {
  T* data = nullptr;
  Shape shape{0};

  std::int64_t n() const { return shape.elements(); }
  std::int64_t operator[](int axis) const { return shape[axis]; }
};

class Call {
 public:
  explicit Call(const char* name);  // of the function: it begins every message
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  // Throws TypeError for another dtype, and ValueError for an array that is not dense or is on
  // another device than the first one. `rank` -1 takes any.
  template <class T>
  View<const T> input(const char* what, const Array& array, int rank = -1) {
    const Shape shape = check(what, array, nb::dtype<T>(), rank);
    return {static_cast<const T*>(stage(array.data(), shape, sizeof(T), array)), shape};
  }
  // Throws ValueError, with both shapes, unless the array has this one.
  template <class T>
  View<const T> input(const char* what, const Array& array, const Shape& expected) {
    check_shape(what, check(what, array, nb::dtype<T>(), -1), expected);
    return {static_cast<const T*>(stage(array.data(), expected, sizeof(T), array)), expected};
  }
  template <class T>
  const T* optional_input(const char* what, const OptionalArray& array, const Shape& expected) {
    return array ? input<T>(what, *array, expected).data : nullptr;
  }
  // An array that the call reads and changes. It may not overlap another one.
  template <class T>
  View<T> in_place(const char* what, const Writable& array) {
    const Shape shape = check(what, readable(array), nb::dtype<T>(), -1, true);
    return {static_cast<T*>(stage_in_place(what, array, shape, sizeof(T))), shape};
  }
  template <class T>
  T* in_place(const char* what, const Writable& array, const Shape& expected) {
    check_shape(what, check(what, readable(array), nb::dtype<T>(), -1, true), expected);
    return static_cast<T*>(stage_in_place(what, array, expected, sizeof(T)));
  }

  // The next result: `out` when it is not None, which must then have this shape, or a new array.
  // `may_alias`: it may be an input, element for element.
  template <class T>
  T* output(const Shape& shape, const nb::object& out = nb::none(), bool may_alias = false) {
    return static_cast<T*>(new_output(shape, nb::dtype<T>(), sizeof(T), out, may_alias));
  }

  // Throws TypeError, as check_argument() does. Other functions than those above call it before
  // they look at an array.
  void require_array(const char* what, const Array& array, const char* expected) const;
  // Throws ValueError for an array that the host cannot read.
  void require_host(const char* what, const Array& array) const;
  // Throws ValueError: "gemm: ...".
  template <class... Parts>
  void require(bool holds, const Parts&... parts) const {
    if (!holds) throw Error(ErrorKind::usage, str(name_, ": ", parts...));
  }

  const char* name() const { return name_; }
  const Stream& stream() const { return *stream_; }
  const Stream& stream_of_array(const char* what, const Array& array) {
    require_array(what, array, "any dtype");
    choose_device(what, array);
    return *stream_;
  }
  // The address, in the memory of the device, of an array whose element `index` is this value; what
  // is before it is not initialised.
  template <class T>
  const T* constant(T value, std::int64_t index = 0) {
    const auto before = static_cast<std::size_t>(index) * sizeof value;
    return static_cast<const T*>(new_constant(&value, sizeof value, before));
  }
  kernels::Workspace workspace(std::size_t bytes);  // lives as long as the call

  // Runs work(stream) without the GIL. On a GPU it is queued on the caller's current stream.
  template <class Work>
  void run(Work work) {
    begin();
    try {
      const nb::gil_scoped_release release;
      work(*stream_);
      finish();
    } catch (const Error&) {
      rethrow_interrupt();
      throw;
    }
    end();
  }

  Result result();    // the only output, after run()
  Results results();  // all of them, in the order of output()

 private:
  struct Range {
    const char* what;
    const char* begin;
    const char* end;
    bool written = false, may_alias = false;

    bool allows(const Range& other) const;  // may the call use both?
  };
  struct Output {
    nb::object object;
    bool ours = true;      // not the caller's array
    void* host = nullptr;  // where what is staged goes back to
    void* staged = nullptr;
    std::size_t bytes = 0;
  };

  static Array readable(const Writable& array);
  void require_mutable(const char* what, const Writable& array) const;
  Shape check(const char* what, const Array& array, nb::dlpack::dtype expected, int rank,
              bool written = false);
  void check_shape(const char* what, const Shape& found, const Shape& expected) const;
  void choose_device(const char* what, const Array& array);
  void add_range(const Range& range);  // throws ValueError when it overlaps another one
  const void* stage(const void* data, const Shape& shape, std::size_t size, const Array& array,
                    bool written = false);
  void* stage_in_place(const char* what, const Writable& array, const Shape& shape,
                       std::size_t size);
  void* new_output(const Shape& shape, nb::dlpack::dtype dtype, std::size_t size,
                   const nb::object& out, bool may_alias);
  const void* new_constant(const void* value, std::size_t bytes, std::size_t before);
  void begin();
  void finish();
  void end();

  nb::object of_library(const Output& output) const;

  std::optional<GpuGuard> guard_;  // the last to go
  const char* name_;
  std::optional<Library> library_;  // of the first array
  Libraries libraries_;             // of all of them
  const char* current_ = "";        // the argument that is being looked at
  const Stream* stream_ = nullptr;
  bool locked_ = false;
  std::vector<Range> ranges_;
  std::vector<Output> outputs_;
  std::vector<Output> in_place_;
  std::vector<Array> kept_;
  std::deque<Buffer> buffers_;
};

// The least and the greatest element of an array that has one; both are NaN where there is a NaN.
// Waits for them.
std::pair<float, float> extremes(Call& call, const Array& array, const View<const float>& view);
std::pair<std::int32_t, std::int32_t> extremes(Call& call, const Array& array,
                                               const View<const std::int32_t>& view);

void bind_catalogue(nb::module_& m);
void name_functions(nb::module_& m);
void bind_synchronize(nb::module_& m);
void bind_matrix(nb::module_& m);
void bind_sums(nb::module_& m);
void bind_convolution(nb::module_& m);
void bind_pooling(nb::module_& m);
void bind_rows(nb::module_& m);
void bind_normalisation(nb::module_& m);
void bind_updates(nb::module_& m);
void bind_signals(nb::module_& m);
void bind_memory(nb::module_& m);
void bind_gravity(nb::module_& m);
void bind_model(nb::module_& m);
void bind_load_model(nb::module_& m);
void bind_train(nb::module_& m);
void translate_errors();
// A process that forks may call Weft in both halves: GCC's OpenMP would wait for threads that are
// gone, so they end before the fork. host-cuda is refused in a child that came from the midst of
// one of its grids.
void survive_forks();

inline void bind_all(nb::module_& m) {
  translate_errors();
  survive_forks();
  bind_matrix(m);
  bind_sums(m);
  bind_convolution(m);
  bind_pooling(m);
  bind_rows(m);
  bind_normalisation(m);
  bind_updates(m);
  bind_signals(m);
  bind_memory(m);
  bind_gravity(m);
  name_functions(m);
  bind_synchronize(m);
  bind_catalogue(m);
}

}  // namespace weft::python

namespace nanobind::detail {

template <class Base>
struct type_caster<weft::python::Described<Base>> {
  NB_TYPE_CASTER(weft::python::Described<Base>, const_name("weft._typing.Array"))

  // Takes every object: Call says what is wrong with one that is no array, and calls it by its
  // name.
  bool from_python(handle src, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    const weft::python::Library library = weft::python::library_of(src);
    value = as_array(src, flags, cleanup);
    value.library = library;
    value.source = borrow(src);
    return true;
  }

 private:
  static weft::python::Described<Base> as_array(handle src, std::uint32_t flags,
                                                cleanup_list* cleanup) noexcept {
    make_caster<Base> caster;
    object view;  // lives on as the owner of what is cast
    if (src.is_none()) return {};
    if (PyObject_CheckBuffer(src.ptr()) != 0 &&
        PyObject_HasAttrString(src.ptr(), "__dlpack__") == 0) {
      view = steal(PyMemoryView_FromObject(src.ptr()));
      if (!view.is_valid()) {
        PyErr_Clear();
        return {};
      }
      src = view;
    }
    if (!caster.from_python(src, flags, cleanup)) {
      PyErr_Clear();
      return {};
    }
    return weft::python::Described<Base>(std::move(caster.value));
  }
};

#if NB_VERSION_MAJOR >= 3
template <class Base>  // None comes to from_python(), too; older ones refuse it in their own words
struct has_arg_defaults<weft::python::Described<Base>> : std::true_type {};
#endif

}  // namespace nanobind::detail
