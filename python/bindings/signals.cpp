// SPDX-License-Identifier: MIT
// The families signal and image.
#include <array>

#include "kernels/image/image.h"
#include "kernels/signal/signal.h"
#include "python/bindings/pictures.h"

namespace weft::python {
namespace {

// The last extents of an array of 1 to 3 axes as (depth, height, width).
std::array<std::int64_t, 3> volume(const Call& call, const char* what, const Shape& shape) {
  call.require(shape.rank() >= 1 && shape.rank() <= 3, what, " has shape ", shape,
               ", expected 1 to 3 axes");
  std::array<std::int64_t, 3> extents = {1, 1, 1};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    extents[static_cast<std::size_t>(3 - shape.rank() + axis)] = shape[axis];
  }
  return extents;
}

Result signal_convolve(const Array& x, const Array& filter, const std::string& variant,
                       const nb::object& out) {
  Call call("signal_convolve");
  const auto in = call.input<float>("x", x);
  const auto taps = call.input<float>("filter", filter, in.shape.rank());
  const auto [depth, height, width] = volume(call, "x", in.shape);
  const auto [filter_depth, filter_height, filter_width] = volume(call, "filter", taps.shape);
  const kernels::SignalDims dims{depth, height, width, filter_depth, filter_height, filter_width};
  float* y = call.output<float>(in.shape, out);
  call.run([&](const Stream& on) {
    kernels::signal_convolve(y, in.data, taps.data, dims, {variant}, on);
  });
  return call.result();
}

Result rgb_to_grey(const Array& x, const std::string& variant, const nb::object& out) {
  Call call("rgb_to_grey");
  const auto in = call.input<std::uint8_t>("x", x, 3);
  call.require(in[2] == 3, "x has shape ", in.shape, ", expected (height, width, 3)",
               in[0] == 3 ? "; numpy.moveaxis(x, 0, 2) has its channels last" : "");
  auto* grey = call.output<std::uint8_t>({in[0], in[1]}, out);
  call.run(
      [&](const Stream& on) { kernels::rgb_to_grey(grey, in.data, in[0] * in[1], variant, on); });
  return call.result();
}

// Channels last is one image of pixels with channels; channels first are images of one channel.
Result box_blur(const Array& x, std::int64_t radius, const std::string& variant,
                const std::optional<std::string>& layout, const nb::object& out) {
  Call call("box_blur");
  const Layout order = parse_layout(call.name(), layout);
  const auto in = call.input<std::uint8_t>("x", x);
  call.require(in.shape.rank() == 2 || in.shape.rank() == 3, "x has shape ", in.shape,
               ", expected (height, width) or (height, width, channels)");
  const bool colour = in.shape.rank() == 3;
  constexpr std::int64_t kFew = 4;  // channels that a picture has
  call.require(!colour || order != Layout::unsaid || in[2] <= kFew || in[0] > kFew, "x has shape ",
               in.shape, ", which may be (channels, height, width) or (height, ",
               "width, channels); layout=\"channels_first\" or \"channels_last\" says which");
  const bool planes = colour && order == Layout::channels_first;
  const std::int64_t images = planes ? in[0] : 1;
  const kernels::ImageDims dims{in[planes ? 1 : 0], in[planes ? 2 : 1],
                                colour && !planes ? in[2] : 1};
  auto* y = call.output<std::uint8_t>(in.shape, out);
  call.run([&](const Stream& on) {
    const std::int64_t bytes = images > 0 ? in.n() / images : 0;
    for (std::int64_t at = 0; at < images * bytes; at += bytes) {
      kernels::box_blur(y + at, in.data + at, dims, radius, variant, on);
    }
  });
  return call.result();
}

}  // namespace

void bind_signals(nb::module_& m) {
  m.def("signal_convolve", &signal_convolve, "x"_a, "filter"_a, nb::kw_only(),
        "variant"_a = "automatic", "out"_a = nb::none(),
        with_rungs(
            "The correlation of a signal, an image or a volume with a small filter, of the size of "
            "x.\n\n"
            "x, filter: as many axes each, 1 to 3, float32. Outside of x everything is 0, and the\n"
            "filter is not mirrored. Returns the shape of x.",
            "signal")
            .c_str());
  m.def("rgb_to_grey", &rgb_to_grey, "x"_a, nb::kw_only(), "variant"_a = "automatic",
        "out"_a = nb::none(),
        with_rungs("0.299 R + 0.587 G + 0.114 B of each pixel, rounded. x: (height, width, 3), "
                   "uint8. Returns\n"
                   "(height, width), uint8.",
                   "image", "rgb_to_grey")
            .c_str());
  m.def(
      "box_blur", &box_blur, "x"_a, "radius"_a = 1, nb::kw_only(), "variant"_a = "automatic",
      "layout"_a = nb::none(), "out"_a = nb::none(),
      with_rungs(
          "The mean over 2 * radius + 1 rows and columns, of those inside the image, rounded.\n\n"
          "x: (height, width) or (height, width, channels), uint8; with layout=\"channels_first\"\n"
          "(channels, height, width). Returns the shape of x.",
          "image", "box_blur")
          .c_str());
}

}  // namespace weft::python
