// SPDX-License-Identifier: MIT
#include "models/networks/network_text.h"

#include <algorithm>

#include "engine/names.h"
#include "engine/text.h"

namespace weft::models {

namespace {

using layers::LayerRow;
using layers::Words;
using Token = Words::Token;

// The words of blocks are the text's own grammar.
constexpr std::string_view kResidual = "residual", kShortcut = "shortcut";

const LayerRow& add_row() {
  return *std::ranges::find(layers::layer_rows(), "Add", &LayerRow::type);
}

const LayerRow& row_at(const Words& words) {
  const Token& first = words.token();
  if (const LayerRow* row = layers::find_layer(first.text)) return *row;
  Names names;
  for (const LayerRow& row : layers::layer_rows()) {
    if (!row.word.empty()) names.push_back(row.word);
  }
  const std::string near = nearest_name(first.text, names);
  words.fail_here(near.empty() ? "a layer, one of " + joined(names)
                               : "a layer (did you mean " + near + "?)");
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view where) : words_(text, where) {
    if (text.size() > kMostNetworkBytes) {
      words_.fail({}, str("expected at most ", kMostNetworkBytes, " bytes, found ", text.size()));
    }
  }

  std::vector<LayerLine> parse() {
    while (!words_.at_end()) {
      if (words_.token().text.empty()) {
        words_.advance();
      } else if (words_.token().text == "}") {
        close_block();
      } else {
        read_layer();
      }
    }
    if (!open_.empty()) words_.fail(open_.back(), "this block is not closed: expected a }");
    if (lines_.empty()) words_.fail({}, "expected at least one layer");
    return std::move(lines_);
  }

 private:
  void add_line(const LayerRow& row, const Token& at) {
    lines_.push_back({&row, at.line, at.column, row.read(words_)});
    may_have_shortcut_ = false;
  }

  void read_layer() {
    const Token first = words_.token();
    const LayerRow& row = row_at(words_);
    if (lines_.size() >= kMostNetworkLayers) {
      words_.fail(first, str("expected at most ", kMostNetworkLayers, " layers"));
    }
    words_.advance();
    if (row.word == kResidual || row.word == kShortcut) return open_block(first, row);
    add_line(row, first);
    const Token& last = words_.token();
    if (!last.ends_line() || last.text == "{") {
      words_.fail_here(str("the end of the line after ", row.word, row.arguments.empty() ? "" : " ",
                           row.arguments));
    }
  }

  void open_block(const Token& first, const LayerRow& row) {
    if (row.word == kShortcut) {
      if (!may_have_shortcut_) words_.fail(first, "expected a residual block in front of shortcut");
      lines_.pop_back();  // the block goes on
    }
    if (open_.size() >= kMostNetworkDepth) {
      words_.fail(first, str("expected at most ", kMostNetworkDepth, " blocks in each other"));
    }
    if (!words_.accept("{")) words_.fail_here("a {");
    open_.push_back(first);
    add_line(row, first);
  }

  void close_block() {
    const Token brace = words_.token();
    if (open_.empty()) words_.fail(brace, "found a } without its {");
    const std::string_view last = lines_.back().row->word;
    if (last == kResidual || last == kShortcut) {
      words_.fail(brace, "expected a layer in front of }");
    }
    words_.advance();
    add_line(add_row(), brace);
    may_have_shortcut_ = open_.back().text == kResidual;
    open_.pop_back();
  }

  Words words_;
  std::vector<Token> open_;  // the words in front of the braces that are open
  bool may_have_shortcut_ = false;
  std::vector<LayerLine> lines_;
};

}  // namespace

std::vector<LayerLine> parse_network(std::string_view text, std::string_view where) {
  return Parser(text, where).parse();
}

}  // namespace weft::models
