// SPDX-License-Identifier: MIT
#include "models/int8/int8_network.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "engine/error.h"
#include "engine/extent.h"
#include "engine/timer.h"
#include "engine/timings.h"
#include "models/answers/classifier.h"
#include "models/int8/values.h"

namespace weft::models {

using namespace int8;
using layers::FloatView;

namespace {

constexpr std::int64_t kMostImages = 32;                   // that go through the network together
constexpr std::size_t kMostBytes = std::size_t{16} << 20;  // of their values, where there are many

}  // namespace

struct Int8Network::State {
  explicit State(const Model& model);

  // Memory of one thread, for so many images.
  struct Room {
    Room(const State& state, std::int64_t images_)
        : images(static_cast<std::size_t>(images_)),
          bytes(images * state.bytes_of_image + kernels::kInt8Slack),
          reals(images * state.reals_of_image),
          workspace(state.workspace_bytes / sizeof(double) + 1) {}
    std::size_t images;
    std::vector<std::uint8_t> bytes;
    std::vector<float> reals;
    std::vector<double> workspace;
  };

  std::uint8_t* bytes(Room& room, std::size_t value) const {
    return room.bytes.data() + values[value].bytes_at * room.images;
  }
  float* reals(Room& room, std::size_t value) const {
    return room.reals.data() + values[value].reals_at * room.images;
  }

  void run(float* logits, const std::uint8_t* pixels, std::int64_t rows, Room& room) const;
  void take_pixels(const std::uint8_t* pixels, std::int64_t rows, Room& room) const;
  void call(const Step& step, std::int64_t rows, Room& room) const;
  void convert(std::size_t value, bool from_bytes, std::int64_t rows, Room& room) const;

  void make_steps(const Model& model);
  void give_weights();
  void quantize_steps();
  void place_values();

  ModelInfo info;
  std::unique_ptr<layers::Sequential> net;
  layers::Weights weights;
  std::vector<FloatView> parameters, buffers;
  std::vector<Value> values;          // the pixels, then the outputs
  std::vector<std::size_t> value_of;  // of each layer
  std::vector<Chain> chains;          // of the steps that are products, in their order
  std::vector<Step> steps;
  std::vector<std::string> in_fp32;
  std::size_t output = 0;
  std::size_t bytes_of_image = 0, reals_of_image = 0, workspace_bytes = 0;
  std::int64_t together = 1;  // images that go through the network together
};

namespace {

layers::Weights weights_of(const Model& model, const layers::Sequential& net) {
  const Stream stream(Device::cpu());
  layers::Weights weights(net, stream, layers::Phase::inference);
  copy_from_host(weights.parameters.view<float>(), std::span(model.parameters), stream);
  copy_from_host(weights.buffers.view<float>(), std::span(model.buffers), stream);
  return weights;
}

}  // namespace

Int8Network::State::State(const Model& model)
    : info(model.info), net(make_network(model.info.network)), weights(weights_of(model, *net)) {
  if (info.ranges.size() != net->layers().size()) {
    throw Error(
        ErrorKind::usage,
        info.ranges.empty()
            ? std::string("the model does not say the ranges of its layers, which int8 needs")
            : str("the model has the ranges of ", info.ranges.size(), " layers, its network ",
                  net->layers().size(), " layers"));
  }
  for (const layers::NamedSlice& slice : net->slices()) {
    Tensor& flat = slice.trainable ? weights.parameters : weights.buffers;
    (slice.trainable ? parameters : buffers)
        .push_back({flat.data<float>() + slice.offset, slice.shape, Device::cpu()});
  }
  make_steps(model);
  give_weights();
  quantize_steps();
  place_values();
}

// Makes a step of each layer, or of each chain of layers, that computes something.
void Int8Network::State::make_steps(const Model& model) {
  values.push_back({kept_shape(net->input_shape(1)), Steps::of_pixels(info)});
  const std::vector<Shape> shapes = net->output_shapes(1);
  value_of.resize(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const layers::Wires& wires = net->wires()[i];
    const layers::LayerTraits traits = net->layers()[i]->traits();
    const std::size_t in = wires.input < 0 ? 0 : value_of[static_cast<std::size_t>(wires.input)];
    const Shape input =
        wires.input < 0 ? net->input_shape(1) : shapes[static_cast<std::size_t>(wires.input)];
    value_of[i] = in;
    if (traits.view || traits.identity_in_inference || traits.junction == layers::Junction::fork ||
        traits.junction == layers::Junction::shortcut) {
      continue;
    }
    const bool as_kept = input.rank() < 4 || kept_shape(input) == values[in].shape;
    std::optional<Chain> chain =
        as_kept ? int8::chain_at(model, i, values[in].shape) : std::nullopt;
    Step step{.in = in, .out = values.size()};
    if (chain) {
      chains.push_back(*chain);
      values[in].as_bytes = true;
      for (std::size_t j = i; j <= chain->last; ++j) value_of[j] = step.out;
      i = chain->last;
      step.makes_bytes = true;
    } else {
      step.layer = net->layers()[i].get();
      step.input_shape = input;
      step.output_shape = shapes[i];
      step.makes_bytes = !values[in].as_reals_first && i + 1 < shapes.size() &&
                         is_elementwise(*step.layer, input, values[in].shape);
      (step.makes_bytes ? values[in].as_bytes : values[in].as_reals) = true;
      if (wires.other >= 0) {
        step.other = value_of[static_cast<std::size_t>(wires.other)];
        step.other_shape = shapes[static_cast<std::size_t>(wires.other)];
        values[step.other].as_reals = true;
      }
      value_of[i] = step.out;
      if (!step.makes_bytes) in_fp32.push_back(step.layer->name());
    }
    // A table works on bytes in their order, which behind a Flatten is still that of the image.
    const bool by_table = step.layer != nullptr && step.makes_bytes;
    const Shape kept = by_table ? values[in].shape : kept_shape(shapes[i]);
    values.push_back({kept, Steps::of_range(info.ranges[i], kept[0])});
    values.back().as_reals = values.back().as_reals_first = !step.makes_bytes;
    steps.push_back(std::move(step));
  }
  output = value_of.back();
  values[output].as_reals = true;
}

// Layers that stay in fp32 compute with their own weights.
void Int8Network::State::give_weights() {
  std::size_t first_parameter = 0, first_buffer = 0;
  for (const auto& layer : net->layers()) {
    const auto found = std::ranges::find(steps, layer.get(), &Step::layer);
    const std::size_t count = layer->parameters().size(), held = layer->buffers().size();
    if (found != steps.end()) {
      found->context.parameters = std::span(parameters).subspan(first_parameter, count);
      found->context.buffers = std::span(buffers).subspan(first_buffer, held);
    }
    first_parameter += count;
    first_buffer += held;
  }
}

// Makes the products and the tables, now that every value knows what its readers take.
void Int8Network::State::quantize_steps() {
  std::size_t next_chain = 0;
  for (Step& step : steps) {
    const Value& in = values[step.in];
    Value& out = values[step.out];
    if (step.layer == nullptr) {
      // Where nobody wants the bytes of one pixel, a product makes real numbers.
      step.makes_bytes = out.as_bytes || out.shape[1] * out.shape[2] > 1;
      step.product =
          quantized(chains[next_chain++], in.steps, step.makes_bytes ? &out.steps : nullptr);
    }
    out.as_bytes |= step.makes_bytes;
    if (step.layer != nullptr && step.makes_bytes) step.table = table_of(step, in, out);
  }
}

void Int8Network::State::place_values() {
  for (Value& value : values) {
    value.bytes_at = bytes_of_image;
    value.reals_at = reals_of_image;
    if (value.as_bytes) bytes_of_image += round_up(value.size(), std::size_t{64});
    if (value.as_reals) reals_of_image += round_up(value.size(), std::size_t{16});
  }
  const std::size_t image = bytes_of_image + sizeof(float) * reals_of_image;
  together = std::clamp(static_cast<std::int64_t>(kMostBytes / std::max(image, std::size_t{1})),
                        std::int64_t{1}, kMostImages);
  for (const Step& step : steps) {
    workspace_bytes = std::max(
        workspace_bytes,
        step.product       ? int8_conv_workspace_bytes(step.product->call(nullptr, together))
        : step.makes_bytes ? 0
                           : step.layer->workspace_bytes(with_rows(step.input_shape, together), {},
                                                         Device::cpu(), layers::Phase::inference));
  }
}

void Int8Network::State::take_pixels(const std::uint8_t* pixels, std::int64_t rows,
                                     Room& room) const {
  const Value& value = values.front();
  const std::int64_t channels = value.shape[0], plane = value.shape[1] * value.shape[2];
  if (value.as_bytes) {
    std::uint8_t* out = bytes(room, 0);
    if (channels == 1) std::copy(pixels, pixels + rows * plane, out);
    for (std::int64_t row = 0; row < rows && channels > 1; ++row) {
      const std::uint8_t* image = pixels + row * channels * plane;
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t i = 0; i < plane; ++i) {
          out[(row * plane + i) * channels + c] = image[c * plane + i];
        }
      }
    }
  }
  if (value.as_reals) {
    float* out = reals(room, 0);
    for (std::int64_t row = 0; row < rows; ++row) {
      out =
          std::ranges::copy(normalized({pixels + row * channels * plane, value.size()}, info), out)
              .out;
    }
  }
}

void Int8Network::State::convert(std::size_t value, bool from_bytes, std::int64_t rows,
                                 Room& room) const {
  if (from_bytes && values[value].as_reals) {
    to_reals(reals(room, value), bytes(room, value), values[value], rows);
  } else if (!from_bytes && values[value].as_bytes) {
    to_bytes(bytes(room, value), reals(room, value), values[value], rows);
  }
}

void Int8Network::State::call(const Step& step, std::int64_t rows, Room& room) const {
  if (step.product) {
    const kernels::Int8Call call = step.product->call(bytes(room, step.in), rows);
    if (step.makes_bytes) {
      int8_conv(bytes(room, step.out), call, room.workspace.data());
    } else {
      int8_conv(reals(room, step.out), call, room.workspace.data());
    }
    convert(step.out, step.makes_bytes, rows, room);
    return;
  }
  if (step.makes_bytes) {
    const std::uint8_t* x = bytes(room, step.in);
    std::uint8_t* y = bytes(room, step.out);
    const std::int64_t channels = values[step.in].shape[0];
    for (std::int64_t i = rows * values[step.in].shape[1] * values[step.in].shape[2]; i > 0; --i) {
      for (std::int64_t c = 0; c < channels; ++c)
        *y++ = step.table[static_cast<std::size_t>(256 * c + *x++)];
    }
    convert(step.out, true, rows, room);
    return;
  }
  const auto view = [&](std::size_t value, const Shape& shape) {
    return FloatView{reals(room, value), with_rows(shape, rows), Device::cpu()};
  };
  layers::LayerContext context = step.context;
  context.workspace = {room.workspace.data(), room.workspace.size() * sizeof(double)};
  if (step.other_shape.rank() > 0) context.other = view(step.other, step.other_shape);
  step.layer->forward(view(step.out, step.output_shape), view(step.in, step.input_shape),
                      kernels::Epilogue::none, context, Stream(Device::cpu()));
  convert(step.out, false, rows, room);
}

void Int8Network::State::run(float* logits, const std::uint8_t* pixels, std::int64_t rows,
                             Room& room) const {
  take_pixels(pixels, rows, room);
  for (const Step& step : steps) call(step, rows, room);
  const float* made = reals(room, output);
  std::copy(made, made + rows * values[output].shape.elements(), logits);
}

Int8Network::Int8Network(const Model& model) : state_(std::make_unique<const State>(model)) {}
Int8Network::Int8Network(Int8Network&&) noexcept = default;
Int8Network::~Int8Network() = default;

std::int64_t Int8Network::products() const {
  return std::ssize(state_->chains);
}

const std::vector<std::string>& Int8Network::in_fp32() const {
  return state_->in_fp32;
}

std::vector<float> Int8Network::logits(std::span<const std::uint8_t> pixels) const {
  const State& state = *state_;
  const auto image = static_cast<std::int64_t>(state.values.front().size());
  const std::int64_t images = std::ssize(pixels) / image, classes = state.info.network.classes;
  if (images * image != std::ssize(pixels)) {
    throw Error(ErrorKind::usage,
                str("expected images of ", image, " bytes, found ", pixels.size(), " bytes"));
  }
  std::vector<float> logits(static_cast<std::size_t>(images * classes));
  const std::int64_t batches = divide_up(images, state.together);
  const bool threads = batches > 1;
  std::vector<State::Room> rooms;
  for (int thread = threads ? omp_get_max_threads() : 1; thread > 0; --thread) {
    rooms.emplace_back(state, std::min(images, state.together));
  }
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic) if (threads)
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t first = batch * state.together;
    try {
      state.run(logits.data() + first * classes, pixels.data() + first * image,
                std::min(state.together, images - first),
                rooms[static_cast<std::size_t>(omp_get_thread_num())]);
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return logits;
}

Evaluation evaluate(const Model& model, const Int8Network& network, const data::ImageSet& set) {
  check_images(set, model.info.network, "evaluation");
  const TimedScope timed("evaluate");
  const Timer timer;
  const std::vector<float> logits = network.logits(set.images);
  const double seconds = timer.seconds();
  Evaluation result = evaluation_of(model.info, set, logits);
  result.seconds = seconds;
  return result;
}

}  // namespace weft::models
