// SPDX-License-Identifier: MIT
#include "models/onnx/text.h"

#include <algorithm>

#include "engine/error.h"
#include "models/networks/network_text.h"
#include "models/onnx/node_reader.h"

namespace weft::models {

namespace {

// Writes the lines between two steps. A step that joins two values is the end of a block, which
// begins at its dominator: the last step that both ways to it lead through.
class TextWriter {
 public:
  TextWriter(const OnnxGraph& graph, const OnnxInput& input, const OnnxEnding& ending)
      : graph_(graph), input_(input), ending_(ending), written_(graph.steps().size(), false) {}

  OnnxText write() {
    write_between(input_.first, graph_.output());
    // The last one: another data set may have other classes.
    if (!open_.said.as_last.empty() && open_.said.features > 1) {
      open_.said.words = open_.said.as_last;
    }
    flush();
    if (lines_.empty()) {
      throw Error(ErrorKind::data,
                  str(graph_.where(), ": its output is its input, without a layer"));
    }
    for (const Line& line : lines_) {
      text_.definition += line.words + "\n";
      text_.nodes.push_back(line.node);
    }
    return std::move(text_);
  }

 private:
  struct Line {
    const onnx::NodeProto* node;
    std::string words;
  };

  const OnnxStep& step(int index) const { return graph_.steps()[static_cast<std::size_t>(index)]; }
  [[noreturn]] void fail(const OnnxStep& step, const std::string& problem) const {
    refuse_node(*step.node, graph_.where(), problem);
  }

  void write_between(int from, int to) {
    std::vector<int> way;
    for (int at = to; at != from; at = step(at).dominator) way.push_back(at);
    std::ranges::reverse(way);
    for (const int at : way) {
      if (written_[static_cast<std::size_t>(at)]) {
        fail(step(at), "two ways through the graph share it, which is no block of Weft's");
      }
      written_[static_cast<std::size_t>(at)] = true;
      if (step(at).joins()) {
        write_block(step(at));
      } else {
        write_layer(at);
      }
    }
  }

  void write_block(const OnnxStep& last) {
    if (depth_ >= kMostNetworkDepth) {
      fail(last, str("expected blocks in each other to a depth of ", kMostNetworkDepth));
    }
    flush();
    if (text_.layers.empty()) text_.begins_with_block = true;
    if (is_concat(last)) {
      write_concat(last);
    } else {
      write_sum(last);
    }
    add_line(*last.node, "}");
  }

  // The layers to `to` between braces, behind `words`.
  void write_branch(const OnnxStep& last, const std::string& words, int to) {
    add_line(*last.node, words);
    ++depth_;
    write_between(last.dominator, to);
    flush();
    --depth_;
  }

  void write_sum(const OnnxStep& sum) {
    int main = sum.input, other = sum.other;
    if (main == sum.dominator) std::swap(main, other);
    if (main == sum.dominator) fail(sum, "adds a value to itself");
    write_branch(sum, "residual {", main);
    if (other != sum.dominator) write_branch(sum, "} shortcut {", other);
  }

  static bool is_concat(const OnnxStep& step) {
    return step.joins() && step.node->op_type() == "Concat";
  }

  void check_axis(const OnnxStep& concat) const {
    NodeReader reader(*concat.node, graph_);
    if (reader.number("axis", 0) != 1) reader.fail("expected axis 1, that of the channels");
    reader.finish();
  }

  void write_concat(const OnnxStep& last) {
    check_axis(last);
    write_branch(last, "concat {", last.input);
    int rest = last.other;
    // A Concat at the end of a Concat, as one of more than two values is, if both begin at one
    // step.
    for (int branches = 2; branches < kMostNetworkBranches; ++branches) {
      if (!is_concat(step(rest)) || step(rest).dominator != last.dominator) break;
      check_axis(step(rest));
      written_[static_cast<std::size_t>(rest)] = true;
      write_branch(last, "} and {", step(rest).input);
      rest = step(rest).other;
    }
    write_branch(last, "} and {", rest);
  }

  void write_layer(int at) {
    const OnnxStep& here = step(at);
    if (std::ranges::count(ending_.steps, at) > 0) return;
    OnnxLayer layer = onnx_layer(*here.node, graph_);
    if (layer.is_bias()) {
      if (open_.said.without_bias.empty()) {
        fail(here, "expected a MatMul in front of the Add of a tensor");
      }
      open_.tensors.push_back(layer.tensors[0]);
      open_.said.without_bias = {};
      return;
    }
    flush();
    if (layer.said.features > 0) {
      text_.classes = layer.said.features;
      text_.row = 0;
    }
    if (layer.said.row > 0) text_.row = layer.said.row;
    open_ = std::move(layer);
  }

  // Writes the layer that a bias might have followed.
  void flush() {
    if (open_.node == nullptr) return;
    add_line(*open_.node, str(open_.said.words, open_.said.without_bias));
    if (!open_.tensors.empty()) text_.layers.push_back(std::move(open_));
    open_ = {};
  }

  void add_line(const onnx::NodeProto& node, const std::string& words) {
    lines_.push_back({&node, std::string(static_cast<std::size_t>(2 * depth_), ' ') + words});
  }

  const OnnxGraph& graph_;
  const OnnxInput& input_;
  const OnnxEnding& ending_;
  std::vector<bool> written_;
  std::vector<Line> lines_;
  OnnxLayer open_;
  int depth_ = 0;
  OnnxText text_;
};

}  // namespace

OnnxText onnx_text(const OnnxGraph& graph, const OnnxInput& input, const OnnxEnding& ending) {
  return TextWriter(graph, input, ending).write();
}

}  // namespace weft::models
