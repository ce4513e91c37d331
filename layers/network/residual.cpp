// SPDX-License-Identifier: MIT
#include "layers/network/residual.h"

#include "kernels/memory/memory.h"

namespace weft::layers {

namespace {

void copy(FloatView to, ConstFloatView from, const Stream& stream) {
  if (to.data == from.data) return;
  copy_bytes(to.data, to.device, from.data, from.device,
             static_cast<std::size_t>(from.elements()) * sizeof(float), stream);
}

// sum = a + context.other
void add(const Layer& layer, FloatView sum, ConstFloatView a, const LayerContext& context,
         const Stream& stream) {
  const ConstFloatView& b = context.other;
  if (b.shape != a.shape || b.device != a.device || (b.data == nullptr && b.elements() > 0)) {
    throw Error(ErrorKind::usage,
                str(layer.name(), ": ", layer.describe(), " expects a second ", "operand ", a.shape,
                    " on ", a.device, ", found ", b.shape, " on ", b.device));
  }
  if (sum.data != nullptr && (sum.data == a.data || sum.data == b.data)) {
    throw Error(ErrorKind::usage, str(layer.name(), ": a sum cannot be in place"));
  }
  kernels::vector_add(sum.data, a.data, b.data, a.elements(), kernels::kAutomatic, stream);
}

[[noreturn]] void refuse_call(const Layer& layer) {
  throw Error(ErrorKind::usage, str(layer.name(), ": Shortcut is no call; a Plan passes it over"));
}

}  // namespace

Wires Wiring::add(const Layer& layer) {
  const int here = next_;
  const Junction junction = layer.traits().junction;
  const bool has_shortcut = !blocks_.empty() && blocks_.back().sum >= 0;
  const bool needs_fork = junction == Junction::shortcut || closes_block(junction);
  if (needs_fork && (blocks_.empty() || (junction == Junction::shortcut && has_shortcut))) {
    throw Error(ErrorKind::usage,
                str(layer.name(), ": ", layer.describe(), " expects an open Fork before it"));
  }
  Wires wires{.input = here - 1};
  if (junction == Junction::fork) blocks_.push_back({layer.name(), here});
  if (junction == Junction::shortcut) {
    blocks_.back().sum = wires.input;
    wires.input = blocks_.back().fork;
  }
  if (closes_block(junction)) {
    wires = closing();
    blocks_.pop_back();
  }
  ++next_;
  return wires;
}

Wires Wiring::closing() const {
  if (blocks_.empty()) return {};
  const Block& block = blocks_.back();
  Wires wires{.input = next_ - 1, .fork = block.fork, .other = block.fork};
  if (block.sum >= 0) {
    wires.other = wires.input;
    wires.input = block.sum;
  }
  return wires;
}

void Wiring::finish() const {
  if (blocks_.empty()) return;
  throw Error(ErrorKind::usage,
              str(blocks_.back().fork_name, ": Fork expects an Add or a Concat after it"));
}

void Fork::do_forward(const ForwardCall& call) const {
  copy(call.y, call.x, call.stream);
}

void Fork::do_backward(const BackwardCall& call) const {
  if (call.dx.data != nullptr) add(*this, call.dx, call.dy, call.context, call.stream);
}

void Shortcut::do_forward(const ForwardCall&) const {
  refuse_call(*this);
}

void Shortcut::do_backward(const BackwardCall&) const {
  refuse_call(*this);
}

void Add::do_forward(const ForwardCall& call) const {
  add(*this, call.y, call.x, call.context, call.stream);
}

void Add::do_backward(const BackwardCall& call) const {
  if (call.dx.data != nullptr) copy(call.dx, call.dy, call.stream);
}

}  // namespace weft::layers
