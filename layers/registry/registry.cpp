// SPDX-License-Identifier: MIT
#include "layers/registry/registry.h"

#include <algorithm>

namespace weft::layers {

namespace {

std::deque<LayerRow>& table() {
  static std::deque<LayerRow> rows = own_layer_rows();
  return rows;
}

template <class Value, class Member>
bool is_taken(const Value& value, Member member) {
  return !value.empty() && std::ranges::find(table(), value, member) != table().end();
}

}  // namespace

const std::deque<LayerRow>& layer_rows() {
  return table();
}

void register_layer(LayerRow row) {
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorKind::usage, str("register_layer: ", row.type, ": ", problem));
  };
  if (row.word.empty() || row.read == nullptr) refuse("expected a word and its reader");
  if (is_taken(row.word, &LayerRow::word)) refuse(str("there is a word ", row.word));
  if (is_taken(row.python, &LayerRow::python)) refuse(str("Python has a ", row.python));
  for (const OnnxOperator& mine : row.onnx) {
    for (const LayerRow& other : table()) {
      if (std::ranges::count(other.onnx, mine.type, &OnnxOperator::type) > 0) {
        refuse(str(mine.type, " is read as ", other.word));
      }
    }
  }
  table().push_back(std::move(row));
}

const LayerRow* find_layer(std::string_view word) {
  const auto found = std::ranges::find(table(), word, &LayerRow::word);
  return word.empty() || found == table().end() ? nullptr : &*found;
}

std::unique_ptr<Layer> make_layer(const LayerRow& row, const LayerText& text,
                                  const LayerSite& site) {
  const int rank = site.input.rank();
  const bool fits =
      row.input == LayerInput::any || rank == (row.input == LayerInput::image ? 4 : 2);
  if (fits) return text.make(site);
  throw Error(ErrorKind::data,
              str(row.word, " expects ", row.input == LayerInput::image ? "an image" : "rows",
                  ", found ", Shape(site.input.extents().subspan(1))));
}

}  // namespace weft::layers
