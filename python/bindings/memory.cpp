// SPDX-License-Identifier: MIT
// The families memory and divergence.
#include "kernels/memory/memory.h"

#include "kernels/divergence/divergence.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

Result vector_add(const Array& a, const Array& b, const std::string& variant,
                  const nb::object& out) {
  Call call("vector_add");
  const auto left = call.input<float>("a", a);
  const float* right = call.input<float>("b", b, left.shape).data;
  float* c = call.output<float>(left.shape, out);
  call.run(
      [&](const Stream& on) { kernels::vector_add(c, left.data, right, left.n(), variant, on); });
  return call.result();
}

// How many elements offset + i * stride lie in x.
std::int64_t accesses(const Call& call, const Shape& x, const kernels::Access& access) {
  call.require(access.offset >= 0 && access.stride >= 1, "offset is ", access.offset,
               " and stride is ", access.stride, ", expected an offset from 0 and a stride from 1");
  return access.offset >= x.elements() ? 0 : (x.elements() - access.offset - 1) / access.stride + 1;
}

Result copy_strided(const Array& x, std::int64_t offset, std::int64_t stride,
                    const std::string& variant, const nb::object& out) {
  Call call("copy_strided");
  const auto in = call.input<float>("x", x, 1);
  const kernels::Access access{offset, stride};
  const std::int64_t n = accesses(call, in.shape, access);
  float* y = call.output<float>({n}, out);
  call.run([&](const Stream& on) { kernels::copy_strided(y, in.data, n, access, variant, on); });
  return call.result();
}

Result read_strided(const Array& x, std::int64_t offset, std::int64_t stride,
                    const std::string& variant) {
  Call call("read_strided");
  const auto in = call.input<std::int32_t>("x", x, 1);
  const kernels::Access access{offset, stride};
  const std::int64_t n = accesses(call, in.shape, access);
  auto* sum = call.output<std::int64_t>({});
  call.run([&](const Stream& on) { kernels::read_strided(sum, in.data, n, access, variant, on); });
  return call.result();
}

Result sq_or_cube(const Array& x, int rounds, const std::string& variant, const nb::object& out) {
  Call call("sq_or_cube");
  const auto in = call.input<std::int32_t>("x", x);
  auto* y = call.output<std::int32_t>(in.shape, out, true);
  call.run([&](const Stream& on) { kernels::sq_or_cube(y, in.data, in.n(), rounds, variant, on); });
  return call.result();
}

// Waits for what has been queued on the device of an array, and names it.
std::string synchronize(const Array& x) {
  Call call("synchronize");
  const Stream& stream = call.stream_of_array("x", x);
  const nb::gil_scoped_release release;
  stream.synchronize();
  return to_string(stream.device());
}

}  // namespace

void bind_memory(nb::module_& m) {
  m.def("vector_add", &vector_add, "a"_a, "b"_a, nb::kw_only(), "variant"_a = "automatic",
        "out"_a = nb::none(),
        with_rungs("a + b. Both: the same shape, float32.", "memory", "vector_add").c_str());
  m.def("copy_strided", &copy_strided, "x"_a, "offset"_a = 0, "stride"_a = 1, nb::kw_only(),
        "variant"_a = "automatic", "out"_a = nb::none(),
        with_rungs("x[offset::stride] as a new array. x: (n,), float32.", "memory", "copy_strided")
            .c_str());
  m.def("read_strided", &read_strided, "x"_a, "offset"_a = 0, "stride"_a = 1, nb::kw_only(),
        "variant"_a = "automatic",
        with_rungs(
            "The sum of x[offset::stride], exact. x: (n,), int32. Returns an int64 of shape ().",
            "memory", "read_strided")
            .c_str());
  m.def(
      "sq_or_cube", &sq_or_cube, "x"_a, "rounds"_a = 1, nb::kw_only(), "variant"_a = "automatic",
      "out"_a = nb::none(),
      with_rungs(
          "Squares of the elements at even places and cubes of the others, r added in round r.\n\n"
          "x: any shape, int32; everything wraps around at 2^32. out: may be x.",
          "divergence")
          .c_str());
}

void bind_synchronize(nb::module_& m) {
  m.def("synchronize", &synchronize, "x"_a,
        "Waits until the calls so far on the device of x are done. Returns its name: \"cuda:0\".");
}

}  // namespace weft::python
