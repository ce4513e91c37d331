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
constexpr std::string_view kConcat = "concat", kAnd = "and";

const LayerRow& row_of_type(std::string_view type) {
  return *std::ranges::find(layers::layer_rows(), type, &LayerRow::type);
}

bool opens_block(const LayerRow& row) {
  return row.word == kResidual || row.word == kShortcut || row.word == kConcat || row.word == kAnd;
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
    if (!open_.empty()) words_.fail(open_.back().word, "this block is not closed: expected a }");
    if (lines_.empty()) words_.fail({}, "expected at least one layer");
    return std::move(lines_);
  }

 private:
  // A brace that is open.
  struct Block {
    Token word;              // in front of it
    bool is_concat = false;  // also behind `and`
    std::size_t begin = 0;   // the first line behind the brace
    int branches = 1;        // of a concat, so far
  };

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
    if (opens_block(row)) return open_block(first, row);
    add_line(row, first);
    const Token& last = words_.token();
    if (!last.ends_line() || last.text == "{") {
      words_.fail_here(str("the end of the line after ", row.word, row.arguments.empty() ? "" : " ",
                           row.arguments));
    }
  }

  void open_block(const Token& first, const LayerRow& row) {
    if (row.word == kAnd) words_.fail(first, "expected a block of concat in front of and");
    if (row.word == kShortcut) {
      if (!may_have_shortcut_) words_.fail(first, "expected a residual block in front of shortcut");
      lines_.pop_back();  // the block goes on
    }
    if (open_.size() >= kMostNetworkDepth) {
      words_.fail(first, str("expected at most ", kMostNetworkDepth, " blocks in each other"));
    }
    if (!words_.accept("{")) words_.fail_here("a {");
    open_.push_back({.word = first, .is_concat = row.word == kConcat});
    add_line(row, first);
    open_.back().begin = lines_.size();
  }

  void close_block() {
    const Token brace = words_.token();
    if (open_.empty()) words_.fail(brace, "found a } without its {");
    words_.advance();
    if (open_.back().is_concat) return close_concat(brace);
    if (lines_.size() == open_.back().begin) {
      words_.fail(brace, "expected a layer in front of }");
    }
    add_line(row_of_type("Add"), brace);
    may_have_shortcut_ = open_.back().word.text == kResidual;
    open_.pop_back();
  }

  // Behind a block of a concat comes the next one, or the end: a Concat for each block but one.
  void close_concat(const Token& brace) {
    Block& block = open_.back();
    if (words_.token().text == kAnd) return open_next(block);
    if (block.branches == 1) {
      words_.fail_here("`and {` behind the first block of concat");
    }
    for (int i = 1; i < block.branches; ++i) add_line(row_of_type("Concat"), brace);
    open_.pop_back();
  }

  void open_next(Block& block) {
    const Token first = words_.token();
    if (block.branches >= kMostNetworkBranches) {
      words_.fail(first, str("expected at most ", kMostNetworkBranches, " blocks of a concat"));
    }
    if (block.branches > 1) {  // this block and those behind it are a concat of their own
      const LayerRow& fork = row_of_type("Fork");
      const Token& at = block.word;
      lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(block.begin),
                    {&fork, at.line, at.column, fork.read(words_)});
    }
    words_.advance();
    if (!words_.accept("{")) words_.fail_here("a {");
    add_line(*layers::find_layer(kAnd), first);
    ++block.branches;
    block.word = first;
    block.begin = lines_.size();
  }

  Words words_;
  std::vector<Block> open_;
  bool may_have_shortcut_ = false;
  std::vector<LayerLine> lines_;
};

}  // namespace

std::vector<LayerLine> parse_network(std::string_view text, std::string_view where) {
  return Parser(text, where).parse();
}

}  // namespace weft::models
