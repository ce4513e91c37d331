// SPDX-License-Identifier: MIT
#include "models/network_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "engine/names.h"
#include "engine/text.h"

namespace weft::models {

namespace {

constexpr std::int64_t kMostFeatures = 1 << 20;
constexpr std::int64_t kMostWindow = 1024;

constexpr std::array kWords = {
    LayerWord{"conv", "N HxW [stride S] [pad P] [no_bias]",
              "a convolution with N filters of H rows and W columns; stride 1 and padding 0 unless "
              "given",
              LayerKind::conv},
    LayerWord{"batch_norm", "", "normalises each channel by its mean and variance over the batch",
              LayerKind::batch_norm},
    LayerWord{"relu", "", "max(x, 0)", LayerKind::relu},
    LayerWord{"sigmoid", "", "1 / (1 + exp(-x))", LayerKind::sigmoid},
    LayerWord{"tanh", "", "the hyperbolic tangent", LayerKind::tanh},
    LayerWord{"max_pool", "HxW [stride S] [pad P]",
              "the largest value of each window; the stride is the window unless given",
              LayerKind::max_pool},
    LayerWord{"avg_pool", "HxW [stride S] [pad P]", "the mean of each window", LayerKind::avg_pool},
    LayerWord{"global_max_pool", "", "the largest value of each channel",
              LayerKind::global_max_pool},
    LayerWord{"global_avg_pool", "", "the mean of each channel", LayerKind::global_avg_pool},
    LayerWord{"flatten", "", "all values of an image in one row; linear does it by itself",
              LayerKind::flatten},
    LayerWord{"dropout", "P | rate | rate/2",
              "drops this share of the values in training; rate is --dropout, and without it the "
              "layer is left out",
              LayerKind::dropout},
    LayerWord{"linear", "N | classes [no_bias]",
              "N weighted sums of all values, or as many as the data has classes",
              LayerKind::linear},
    LayerWord{"residual", "{ LAYERS }",
              "the layers between the braces, whose output is added to their input",
              LayerKind::residual},
    LayerWord{"shortcut", "{ LAYERS }",
              "behind a residual block: what these layers make of its input is added instead",
              LayerKind::shortcut},
};

// A word, a brace, or the end of a line (empty text).
struct Token {
  std::string_view text;
  int line = 1, column = 1;

  bool ends_line() const { return text.empty() || text == "{" || text == "}"; }
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view where) : rest_(text), where_(where) {
    if (text.size() > kMostNetworkBytes) {
      fail({}, str("expected at most ", kMostNetworkBytes, " bytes, found ", text.size()));
    }
    advance();
  }

  std::vector<LayerLine> parse() {
    while (!at_end_) {
      if (token_.text.empty()) {
        advance();
      } else if (token_.text == "}") {
        close_block();
      } else {
        read_layer();
      }
    }
    if (!open_.empty()) fail(open_.back(), "this block is not closed: expected a }");
    if (lines_.empty()) fail({}, "expected at least one layer");
    return std::move(lines_);
  }

 private:
  [[noreturn]] void fail(const Token& at, const std::string& problem) const {
    throw Error(ErrorKind::data, str(where_, ":", at.line, ":", at.column, ": ", problem));
  }
  [[noreturn]] void fail_here(const std::string& expected) const {
    fail(token_, str("expected ", expected, ", found ", found()));
  }
  std::string found() const {
    return token_.text.empty() ? "the end of the line" : in_quotes(token_.text);
  }

  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  void drop(std::size_t bytes) {
    rest_.remove_prefix(bytes);
    column_ += static_cast<int>(bytes);
  }

  void advance() {
    while (!rest_.empty() && is_blank(rest_.front())) drop(1);
    if (!rest_.empty() && rest_.front() == '#') drop(std::min(rest_.find('\n'), rest_.size()));
    token_ = {{}, line_, column_};
    if (rest_.empty()) {
      at_end_ = ended_;
      ended_ = true;  // the last line ends too
      return;
    }
    if (rest_.front() == '\n') {
      drop(1);
      ++line_;
      column_ = 1;
      return;
    }
    std::size_t size = 1;
    if (rest_.front() != '{' && rest_.front() != '}') {
      size = std::min(rest_.find_first_of(" \t\r\n#{}"), rest_.size());
    }
    token_.text = rest_.substr(0, size);
    drop(size);
  }

  bool accept(std::string_view word) {
    if (token_.text != word) return false;
    advance();
    return true;
  }

  // A whole number that is all of `text`.
  static std::optional<std::int64_t> whole(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  std::int64_t number(const char* what, std::int64_t low, std::int64_t high) {
    const auto value = whole(token_.text);
    if (!value || *value < low || *value > high) {
      fail_here(str(what, " from ", low, " to ", high));
    }
    advance();
    return *value;
  }

  // "3x5", or "3" for "3x3".
  std::pair<std::int64_t, std::int64_t> extents(const char* what, std::int64_t low) {
    const std::size_t cross = token_.text.find('x');
    const auto rows = whole(token_.text.substr(0, cross));
    const auto columns =
        cross == std::string_view::npos ? rows : whole(token_.text.substr(cross + 1));
    const auto within = [&](const auto& value) {
      return value && *value >= low && *value <= kMostWindow;
    };
    if (!within(rows) || !within(columns)) {
      fail_here(str(what, " such as 3x3 or 3, each from ", low, " to ", kMostWindow));
    }
    advance();
    return {*rows, *columns};
  }

  void read_window(LayerLine& layer) {
    layers::Window& window = layer.window;
    std::tie(window.kernel_h, window.kernel_w) = extents("a window", 1);
    if (layer.kind != LayerKind::conv) {
      window.stride_h = window.kernel_h;
      window.stride_w = window.kernel_w;
    }
    bool has_stride = false, has_pad = false;
    for (;;) {
      if (!has_stride && accept("stride")) {
        std::tie(window.stride_h, window.stride_w) = extents("a stride", 1);
        has_stride = true;
      } else if (!has_pad && accept("pad")) {
        std::tie(window.pad_h, window.pad_w) = extents("a padding", 0);
        has_pad = true;
      } else {
        return;
      }
    }
  }

  void read_dropout(LayerLine& layer) {
    if (token_.text == "rate" || token_.text == "rate/2") {
      layer.dropout = token_.text == "rate" ? 1.0f : 0.5f;
      layer.dropout_is_share = true;
      return advance();
    }
    const char* last = token_.text.data() + token_.text.size();
    const auto [end, error] = std::from_chars(token_.text.data(), last, layer.dropout);
    if (token_.text.empty() || error != std::errc{} || end != last ||
        !(layer.dropout >= 0 && layer.dropout < 1)) {
      fail_here("a share from 0 to less than 1, or rate, or rate/2");
    }
    advance();
  }

  void read_layer() {
    const Token first = token_;
    const LayerWord* word = nullptr;
    for (const LayerWord& known : kWords) {
      if (known.name == first.text) word = &known;
    }
    if (word == nullptr) {
      const std::string near = nearest_name(first.text, names_of(kWords));
      fail_here(near.empty() ? "a layer, one of " + joined(names_of(kWords))
                             : "a layer (did you mean " + near + "?)");
    }
    if (lines_.size() >= kMostNetworkLayers) {
      fail(first, str("expected at most ", kMostNetworkLayers, " layers"));
    }
    LayerLine layer;
    layer.kind = word->kind;
    layer.line = first.line;
    layer.column = first.column;
    advance();
    if (layer.kind == LayerKind::residual || layer.kind == LayerKind::shortcut) {
      return open_block(first, layer);
    }
    if (layer.kind == LayerKind::conv)
      layer.features = number("a number of filters", 1, kMostFeatures);
    if (layer.kind == LayerKind::linear && !accept("classes")) {
      layer.features = number("classes or a number", 1, kMostFeatures);
    }
    if (layer.kind == LayerKind::conv || layer.kind == LayerKind::max_pool ||
        layer.kind == LayerKind::avg_pool) {
      read_window(layer);
    }
    if (layer.kind == LayerKind::dropout) read_dropout(layer);
    if (layer.kind == LayerKind::conv || layer.kind == LayerKind::linear) {
      layer.bias = !accept("no_bias");
    }
    if (!token_.ends_line() || token_.text == "{") {
      const std::string arguments(word->arguments);
      fail_here(
          str("the end of the line after ", word->name, arguments.empty() ? "" : " ", arguments));
    }
    lines_.push_back(layer);
    may_have_shortcut_ = false;
  }

  void open_block(const Token& first, const LayerLine& layer) {
    if (layer.kind == LayerKind::shortcut) {
      if (!may_have_shortcut_) fail(first, "expected a residual block in front of shortcut");
      lines_.pop_back();  // the block goes on
    }
    if (open_.size() >= kMostNetworkDepth) {
      fail(first, str("expected at most ", kMostNetworkDepth, " blocks in each other"));
    }
    if (!accept("{")) fail_here("a {");
    open_.push_back(first);
    lines_.push_back(layer);
    may_have_shortcut_ = false;
  }

  void close_block() {
    if (open_.empty()) fail(token_, "found a } without its {");
    const LayerKind last = lines_.back().kind;
    if (last == LayerKind::residual || last == LayerKind::shortcut) {
      fail(token_, "expected a layer in front of }");
    }
    may_have_shortcut_ = open_.back().text == "residual";
    open_.pop_back();
    LayerLine end;
    end.line = token_.line;
    end.column = token_.column;
    lines_.push_back(end);
    advance();
  }

  std::string_view rest_, where_;
  int line_ = 1, column_ = 1;
  bool at_end_ = false, ended_ = false;
  Token token_;
  std::vector<Token> open_;  // the words in front of the braces that are open
  bool may_have_shortcut_ = false;
  std::vector<LayerLine> lines_;
};

}  // namespace

std::span<const LayerWord> layer_words() {
  return kWords;
}

std::vector<LayerLine> parse_network(std::string_view text, std::string_view where) {
  return Parser(text, where).parse();
}

}  // namespace weft::models
