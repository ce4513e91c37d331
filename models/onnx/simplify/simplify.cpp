// SPDX-License-Identifier: MIT
#include "models/onnx/simplify/simplify.h"

#include "models/onnx/simplify/fuse.h"
#include "models/onnx/simplify/writer.h"

namespace weft::models {

namespace simplify {
namespace {

// The input of the graph as the file and the wish for an image tell it.
Seen input_of(const Graph& graph, const onnx::ModelProto& file,
              const std::optional<std::array<std::int64_t, 3>>& image) {
  Seen input{.name = graph.input, .is_input = true};
  for (const onnx::ValueInfoProto& info : file.graph().input()) {
    if (info.name() != graph.input) continue;
    const auto& type = info.type().tensor_type();
    input.type = is_half(type.elem_type()) ? onnx::TensorProto::FLOAT : type.elem_type();
    if (!type.has_shape() || type.shape().dim_size() > kMostRank) break;
    Extents extents;
    bool is_open = false;
    for (const auto& dim : type.shape().dim()) {
      const bool is_known = dim.has_dim_value() && dim.dim_value() > 0;
      if (extents.empty()) {
        extents.push_back(is_known ? Extent::number(dim.dim_value()) : Extent::batches());
        continue;
      }
      extents.push_back(is_known ? Extent::number(dim.dim_value()) : Extent{});
      is_open = is_open || !is_known;
    }
    // An image (channels, height, width) fills in what is open, where that is no other order.
    if (is_open && image && extents.size() == 4) {
      bool fits = true;
      for (std::size_t i = 0; i < 3; ++i) {
        const Extent& extent = extents[i + 1];
        fits = fits && (i > 0 || extent.is_number()) &&
               (!extent.is_number() || extent.is((*image)[i]));
      }
      for (std::size_t i = 0; fits && i < 3; ++i) extents[i + 1] = Extent::number((*image)[i]);
    }
    if (!extents.empty()) input.extents = std::move(extents);
    break;
  }
  return input;
}

}  // namespace
}  // namespace simplify

onnx::ModelProto simplified(const onnx::ModelProto& file, int output, const std::string& where,
                            const std::optional<std::array<std::int64_t, 3>>& image,
                            const std::optional<std::pair<double, double>>& bounds) {
  std::optional<simplify::Bounds> of_input;
  if (bounds) of_input = {bounds->first, bounds->second};
  simplify::Graph graph = simplify::part_of(file, output, where);
  simplify::widen_halves(graph);
  if (graph.opset == 6) simplify::renew_from_set_6(graph);
  const simplify::Seen input = simplify::input_of(graph, file, image);
  simplify::Writer(graph, input, of_input).write();
  simplify::drop_unused(graph);
  simplify::fuse_softmax(graph);
  simplify::fuse_norms(graph);
  simplify::drop_unused(graph);
  simplify::fuse_activations(graph);
  simplify::drop_unused(graph);
  simplify::fuse_pads(graph);
  simplify::Writer(graph, input, of_input).write();  // the windows with their new padding
  simplify::drop_unused(graph);
  simplify::fuse_scales(graph);
  simplify::drop_unused(graph);
  return simplify::model_of(std::move(graph), file, output);
}

}  // namespace weft::models
