// SPDX-License-Identifier: MIT
// What a network says of images, and its weights.
#include "python/bindings/model.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "data/ink/colour.h"
#include "data/ink/preprocess.h"
#include "data/picture/image.h"
#include "engine/text.h"
#include "examples/weft/input/picture_model.h"
#include "models/answers/calibration.h"
#include "models/answers/classifier.h"
#include "models/files/state_dict.h"
#include "models/int8/ranges.h"
#include "models/training/runs/run_state.h"
#include "python/bindings/pictures.h"

namespace weft::python {

Network::Network(models::Model model, const Stream& stream, std::vector<std::string> notices)
    : model_(std::move(model)),
      notices_(std::move(notices)),
      stream_(stream),
      weights_(*model_.net, stream, layers::Phase::inference) {
  upload();
}

void Network::upload() {
  copy_from_host(weights_.parameters.view<float>(), model_.parameters, stream_);
  copy_from_host(weights_.buffers.view<float>(), model_.buffers, stream_);
}

void Network::load(std::vector<float> parameters, std::vector<float> buffers) {
  const std::lock_guard lock(mutex_);
  model_.parameters = std::move(parameters);
  model_.buffers = std::move(buffers);
  model_.info.ranges.clear();
  int8_.reset();
  upload();
}

std::vector<float> Network::int8_logits(std::span<const std::uint8_t> pixels) {
  const std::lock_guard lock(mutex_);
  if (!int8_) int8_.emplace(model_);
  return int8_->logits(pixels);
}

std::vector<std::string> Network::measure_ranges(std::vector<std::uint8_t> pixels, std::int64_t n) {
  const models::NetworkOptions& network = model_.info.network;
  data::ImageSet set{.count = n,
                     .channels = network.channels,
                     .height = network.height,
                     .width = network.width,
                     .images = std::move(pixels),
                     .labels = std::vector<std::int32_t>(static_cast<std::size_t>(n))};
  const std::lock_guard lock(mutex_);
  model_.info.ranges = models::measure_ranges(model_, set);
  int8_.emplace(model_);
  return int8_->in_fp32();
}

std::vector<float> Network::logits(const float* x, std::int64_t n) {
  constexpr std::int64_t kBatch = 256;
  constexpr std::size_t kPlans = 4;  // that are kept
  const std::lock_guard lock(mutex_);
  std::vector<float> all;
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t batch = std::min(kBatch, n - done);
    if (!plans_.contains(batch) && plans_.size() >= kPlans) plans_.clear();
    layers::Plan& plan =
        plans_
            .try_emplace(batch, *model_.net, weights_, batch, layers::Phase::inference,
                         layers::KernelChoice{}, 0, nullptr, stream_)
            .first->second;
    const auto count = static_cast<std::size_t>(batch * sample_elements());
    copy_from_host(plan.input(), std::span(x + done * sample_elements(), count), stream_);
    plan.forward(stream_);
    const std::vector<float> part = to_host(plan.output(), stream_);
    all.insert(all.end(), part.begin(), part.end());
    done += batch;
  }
  return all;
}

std::vector<std::vector<float>> Network::activations(const float* x, std::int64_t n) {
  const std::lock_guard lock(mutex_);
  layers::KernelChoice kernels;
  kernels.fuse = false;
  layers::Plan plan(*model_.net, weights_, n, layers::Phase::inference, kernels, 0, nullptr,
                    stream_);
  copy_from_host(plan.input(), std::span(x, static_cast<std::size_t>(n * sample_elements())),
                 stream_);
  plan.forward(stream_);
  std::vector<std::vector<float>> all;
  for (std::size_t i = 0; i < model_.net->layers().size(); ++i) {
    all.push_back(to_host(plan.activation(i), stream_));
  }
  return all;
}

namespace {

NumpyResult numpy_of(const std::vector<float>& values, const Shape& shape) {
  Call call("output");
  float* data = call.output<float>(shape);
  std::memcpy(data, values.data(), values.size() * sizeof(float));
  return nb::steal<NumpyResult>(call.result().release());
}

// What a network reads of an array.
struct Input {
  std::int64_t n = 0;                // images
  std::vector<float> values;         // (n, channels, height, width)
  std::vector<std::uint8_t> pixels;  // likewise, where the array has bytes
};

Pictures one_of(const models::ModelInfo& info) {
  return {1, info.network.channels, info.network.height, info.network.width};
}

// Bytes of 0 and 1 are no pixels from 0 to 255.
void warn_of_bits(const Call& call, std::span<const std::uint8_t> pixels) {
  if (pixels.empty() || std::ranges::max(pixels) != 1) return;
  warn(str(call.name(), ": x holds no byte above 1; pixels are from 0 to 255, so these pictures ",
           "are almost black"));
}

// The float32 input of a network is normalised. Pixels that are not have no number below 0.
void warn_of_raw_pixels(const Call& call, std::span<const float> values,
                        const models::ModelInfo& info) {
  constexpr float kSlack = 1e-3f;
  if (values.empty()) return;
  const auto [least, greatest] = std::ranges::minmax(values);
  float black = 0, white = 0;
  for (std::size_t i = 0; i < info.mean.size(); ++i) {
    black = std::min(black, -info.mean[i] / info.stddev[i]);
    white = std::max(white, (1 - info.mean[i]) / info.stddev[i]);
  }
  const bool from_zero = least >= 0 && black < -kSlack;
  if (!(from_zero && greatest > 0 && greatest <= 1) && !(least >= 0 && greatest > white + kSlack)) {
    return;
  }
  warn(str(call.name(), ": x lies between ", least, " and ", greatest,
           ", as pixels do that are not normalised; float32 is taken as the input of the network, ",
           "(pixel / 255 - mean) / stddev, from ", black, " to ", white,
           "; uint8 pixels are normalised for you"));
}

Input input_of(const Call& at, const Network& network, const Array& x,
               const std::optional<std::string>& layout) {
  const models::ModelInfo& info = network.model().info;
  Call call(at.name());
  call.require_array("x", x, "uint8 pixels, or float32 inputs");
  call.require_host("x", x);
  const Layout order = parse_layout(call.name(), layout);
  const auto pictures = [&](const Shape& shape) {
    return pictures_for(call, "x", shape, order, one_of(info));
  };
  Input input;
  if (x.dtype() != nb::dtype<std::uint8_t>()) {
    const auto view = call.input<float>("x", x);
    const Pictures found = pictures(view.shape);
    input.n = found.n;
    input.values.resize(static_cast<std::size_t>(view.n()));
    copy_planes(input.values.data(), view.data, found);
    warn_of_raw_pixels(call, input.values, info);
    return input;
  }
  const auto view = call.input<std::uint8_t>("x", x);
  const Pictures found = pictures(view.shape);
  input.n = found.n;
  input.pixels.resize(static_cast<std::size_t>(view.n()));
  copy_planes(input.pixels.data(), view.data, found);
  warn_of_bits(call, input.pixels);
  const auto elements = static_cast<std::size_t>(network.sample_elements());
  input.values.reserve(input.pixels.size());
  for (std::size_t done = 0; done < input.pixels.size(); done += elements) {
    const std::vector<float> one =
        models::normalized(std::span(input.pixels).subspan(done, elements), info);
    input.values.insert(input.values.end(), one.begin(), one.end());
  }
  return input;
}

// Is it that of bytes? Throws ValueError for another name, and where the model cannot.
bool parse_int8(const Call& call, const Network& network, const std::string& precision) {
  call.require(precision == "fp32" || precision == "int8", "precision is ", in_quotes(precision),
               ", expected \"fp32\" or \"int8\"");
  if (precision == "fp32") return false;
  call.require(network.device() == Device::cpu(), "int8 computes on the CPU, and the model is on ",
               to_string(network.device()));
  call.require(!network.model().info.ranges.empty(),
               "the model does not say the ranges of its layers, which int8 needs; "
               "measure_ranges(images) measures them");
  return true;
}

std::vector<float> logits_of(Network& network, const Input& input, bool int8) {
  return int8 ? network.int8_logits(input.pixels) : network.logits(input.values.data(), input.n);
}

Input pixels_of(const Call& at, const Network& network, const Array& x,
                const std::optional<std::string>& layout) {
  Call call(at.name());
  call.require_array("x", x, "uint8 pixels");
  if (x.dtype() != nb::dtype<std::uint8_t>()) {
    static_cast<void>(call.input<std::uint8_t>("x", x));  // throws, and names what x is
  }
  return input_of(call, network, x, layout);
}

std::vector<std::string> measure_ranges(Network& network, const Array& x,
                                        const std::optional<std::string>& layout) {
  const Call call("measure_ranges");
  Input input = pixels_of(call, network, x, layout);
  call.require(input.n > 0, "x holds no image");
  const nb::gil_scoped_release release;
  return network.measure_ranges(std::move(input.pixels), input.n);
}

NumpyResult logits(Network& network, const Array& x, const std::optional<std::string>& layout,
                   const std::string& precision) {
  const Call call("logits");
  const bool int8 = parse_int8(call, network, precision);
  const Input input =
      int8 ? pixels_of(call, network, x, layout) : input_of(call, network, x, layout);
  std::vector<float> all;
  {
    const nb::gil_scoped_release release;
    all = logits_of(network, input, int8);
  }
  return numpy_of(all, {input.n, network.model().info.network.classes});
}

using Tensors = nb::typed<nb::dict, nb::str, NumpyResult>;

Tensors activations(Network& network, const Array& x, const std::optional<std::string>& layout) {
  const Call call("activations");
  const Input input = input_of(call, network, x, layout);
  const std::int64_t n = input.n;
  call.require(n > 0, "x holds no image");
  std::vector<std::vector<float>> all;
  {
    const nb::gil_scoped_release release;
    all = network.activations(input.values.data(), n);
  }
  const std::vector<Shape> shapes = network.model().net->output_shapes(n);
  nb::dict named;
  for (std::size_t i = 0; i < all.size(); ++i) {
    named[network.model().net->layers()[i]->name().c_str()] = numpy_of(all[i], shapes[i]);
  }
  return named;
}

Tensors state_dict(const Network& network) {
  const models::Model& model = network.model();
  nb::dict tensors;
  for (const layers::NamedSlice& slice : model.net->slices()) {
    const std::vector<float>& flat = slice.trainable ? model.parameters : model.buffers;
    const auto first = flat.begin() + slice.offset;
    tensors[slice.name.c_str()] =
        numpy_of(std::vector<float>(first, first + slice.shape.elements()), slice.shape);
  }
  return tensors;
}

// The values of a tensor of a state dict, in the order of the network's slice.
std::vector<float> values_of(Call& call, const layers::NamedSlice& slice, const nb::dict& state) {
  const nb::str name(slice.name.c_str());
  call.require(state.contains(name), "there is no tensor ", slice.name);
  nb::object tensor = state[name];
  // Values that are copied lose no gradient: PyTorch loads parameters in the same way.
  if (nb::hasattr(tensor, "detach")) tensor = tensor.attr("detach")();
  const auto array = nb::cast<Array>(tensor);
  call.require_array(slice.name.c_str(), array, "float32");
  call.require_host(slice.name.c_str(), array);
  const auto view = call.input<float>(slice.name.c_str(), array, slice.shape);
  return {view.data, view.data + view.n()};
}

// All or nothing. PyTorch counts the batches of batch normalisation, which Weft does not.
void load_state_dict(Network& network, const nb::typed<nb::dict, nb::str, nb::any>& state) {
  Call call("load_state_dict");
  const layers::Sequential& net = *network.model().net;
  std::vector<float> parameters(static_cast<std::size_t>(net.parameter_count()));
  std::vector<float> buffers(static_cast<std::size_t>(net.buffer_count()));
  for (const layers::NamedSlice& slice : net.slices()) {
    const std::vector<float> values = values_of(call, slice, state);
    call.require(models::all_finite(values), slice.name, " holds what is not a number");
    std::copy(values.begin(), values.end(),
              (slice.trainable ? parameters : buffers).begin() + slice.offset);
  }
  for (const auto& [key, value] : state) {
    const std::string name = nb::cast<std::string>(key);
    const bool known = std::ranges::any_of(
        net.slices(), [&](const layers::NamedSlice& slice) { return slice.name == name; });
    call.require(known || name.ends_with(".num_batches_tracked"), "the network has no tensor ",
                 name);
  }
  network.load(std::move(parameters), std::move(buffers));
}

// One picture as the network wants it, in the way of `weft predict`: (channels, height, width).
std::vector<std::uint8_t> prepared(const models::ModelInfo& info, const data::Judge& judge,
                                   const std::filesystem::path& path) {
  if (cli::takes_whole_pictures(info)) {
    return cli::prepare_whole(info, data::load_rgb_image(path, info.sample_bits), false).pixels;
  }
  const data::GreyImage image = cli::looks_for_ink(info)
                                    ? data::load_ink_image(path, info.sample_bits)
                                    : data::load_grey_image(path, info.sample_bits);
  return data::prepare_image(image, cli::preprocess_for(info, image), data::Invert::automatic,
                             path.string(), cli::picture_size(info), judge)
      .pixels;
}

NumpyResult prepare(Network& network, const std::vector<std::string>& paths) {
  const models::ModelInfo& info = network.model().info;
  const Pictures one = one_of(info);
  Call call("prepare");
  call.require(one.channels == 1 || one.channels == 3, "the network reads ", one.channels,
               " channels, and pictures have 1 or 3; pass arrays");
  const std::int64_t n = std::ssize(paths);
  auto* pixels =
      call.output<std::uint8_t>(one.channels == 1 ? Shape{n, one.height, one.width}
                                                  : Shape{n, one.channels, one.height, one.width});
  call.run([&](const Stream&) {
    models::Classifier classifier(info, [&](std::span<const std::uint8_t> picture) {
      return network.logits(models::normalized(picture, info).data(), 1);
    });
    for (const std::string& path : paths) {
      pixels = std::ranges::copy(prepared(info, models::judge_by(classifier), path), pixels).out;
    }
  });
  return nb::steal<NumpyResult>(call.result().release());
}

// Returns each image's probabilities, and whether its answer is unsure.
nb::typed<nb::tuple, NumpyResult, NumpyResult> answers(Network& network, const Array& x,
                                                       const std::optional<std::string>& layout,
                                                       const std::string& precision) {
  const models::ModelInfo& info = network.model().info;
  Call call("predict");
  const bool int8 = parse_int8(call, network, precision);
  const Input input = pixels_of(call, network, x, layout);
  const std::int64_t n = input.n;
  const std::int64_t classes = info.network.classes, elements = network.sample_elements();
  auto* probabilities = call.output<double>({n, classes});
  auto* unsure = call.output<std::uint8_t>({n});
  call.run([&](const Stream&) {
    const std::vector<float> all = logits_of(network, input, int8);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::vector<float> row(all.begin() + i * classes, all.begin() + (i + 1) * classes);
      const std::vector<double> shares = models::probabilities_of(row, info);
      std::copy(shares.begin(), shares.end(), probabilities + i * classes);
      const std::span image(input.pixels.data() + i * elements, static_cast<std::size_t>(elements));
      const double variation =
          models::total_variation(image, info.network.height, info.network.width);
      unsure[i] = models::is_unsure(info.calibration, shares, row, variation) ? 1 : 0;
    }
  });
  return nb::borrow<nb::tuple>(call.results());
}

}  // namespace

void bind_model(nb::module_& m) {
  nb::class_<Network>(m, "Network", "A trained network; weft.Model is made of it.")
      .def("logits", &logits, "x"_a, "layout"_a = nb::none(), "precision"_a = "fp32")
      .def("measure_ranges", &measure_ranges, "x"_a, "layout"_a = nb::none())
      .def("activations", &activations, "x"_a, "layout"_a = nb::none())
      .def("state_dict", &state_dict)
      .def("load_state_dict", &load_state_dict, "state"_a)
      .def("prepare", &prepare, "paths"_a)
      .def("answers", &answers, "x"_a, "layout"_a = nb::none(), "precision"_a = "fp32")
      .def("device", [](const Network& self) { return to_string(self.device()); })
      .def("notices", &Network::notices)
      .def("info", [](const Network& self) { return models::to_json(self.model().info); })
      .def("layers",
           [](const Network& self) {
             std::vector<std::string> all;
             for (const auto& layer : self.model().net->layers()) all.push_back(layer->describe());
             return all;
           })
      .def("parameter_count",
           [](const Network& self) { return self.model().net->parameter_count(); })
      .def(
          "save",
          [](const Network& self, const std::string& path) {
            const nb::gil_scoped_release release;
            models::write_safetensors(path, models::model_content(self.model()));
          },
          "path"_a);
}

}  // namespace weft::python
