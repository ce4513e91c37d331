// SPDX-License-Identifier: MIT
// The machine whose program a pickle is: a stack of values, marks on it, and a memo of values by
// number.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "data/pickle/values.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace pickle {
namespace {

class Machine {
 public:
  Machine(std::span<const std::uint8_t> bytes, const std::string& where)
      : bytes_(bytes), maker_(where, bytes.size()) {}

  Pickle run() {
    while (!stopped_) {
      maker_.set_place(at_);
      const auto operation = static_cast<char>(fixed(1));
      if (!read_constant(operation) && !build(operation) && !arrange(operation)) {
        refuse(operation);
      }
    }
    PickleValue* root = pop();
    check_depth(root);
    maker_.check_arrays();
    return {maker_.take(), root, at_};
  }

 private:
  // Operands of operations.
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) maker_.fail("the pickle is cut off");
    const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + at_;
    at_ += count;
    return {begin, count};
  }
  std::uint64_t fixed(std::size_t width) {  // little-endian
    std::uint64_t value = 0;
    const std::string_view word = take(width);
    for (std::size_t i = 0; i < width; ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(word[i])} << (8 * i);
    }
    return value;
  }
  std::string_view counted(std::size_t width) { return take(fixed(width)); }
  std::string_view line() {
    const auto rest = bytes_.subspan(at_);
    const auto end = std::find(rest.begin(), rest.end(), '\n');
    if (end == rest.end()) maker_.fail("the pickle is cut off within a line");
    const std::string_view text = take(static_cast<std::uint64_t>(end - rest.begin()));
    ++at_;
    return text;
  }

  // The stack.
  void push(PickleValue* value) { stack_.push_back(value); }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleValue* top() const {
    if (stack_.size() <= floor()) maker_.fail("the stack is empty");
    return stack_.back();
  }
  PickleValue* pop() {
    PickleValue* value = top();
    stack_.pop_back();
    return value;
  }
  Values pop_to_mark() {
    if (marks_.empty()) maker_.fail("there is no mark on the stack");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    Values values(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return values;
  }
  Values pop_some(std::size_t count) {
    Values values(count);
    for (std::size_t i = count; i-- > 0;) values[i] = pop();
    return values;
  }

  void push_sequence(Kind kind, const Values& values) {
    PickleValue* made = maker_.make(kind);
    made->items.assign(values.begin(), values.end());
    push(made);
  }
  void push_dict(const Values& values) {
    if (values.size() % 2 != 0) maker_.fail("a dict has a key without a value");
    push_sequence(Kind::dict, values);
  }
  void add_items(Kind kind, const Values& values) {
    PickleValue* to = top();
    if (to->kind != kind) {
      maker_.fail(str("items are added to ", name_of(to->kind), ", expected ", name_of(kind)));
    }
    if (kind == Kind::dict && values.size() % 2 != 0) maker_.fail("a key without a value");
    to->items.insert(to->items.end(), values.begin(), values.end());
  }

  void remember(std::uint64_t number) {
    if (number > UINT32_MAX) maker_.fail("a value of the memo has too large a number");
    memo_[static_cast<std::uint32_t>(number)] = top();
  }
  void recall(std::uint64_t number) {
    const auto found = memo_.find(static_cast<std::uint32_t>(number));
    if (number > UINT32_MAX || found == memo_.end()) {
      maker_.fail(str("value ", number, " of the memo was never made"));
    }
    push(found->second);
  }
  std::uint64_t number_of(std::string_view text) {
    const PickleValue* value = decimal(text, maker_);
    if (value->integer < 0) maker_.fail("a value of the memo has a negative number");
    return static_cast<std::uint64_t>(value->integer);
  }

  // Numbers, text and bytes.
  bool read_constant(char operation) {
    const auto text = [&](std::string_view read) {
      push(maker_.text(Kind::text, std::string(read)));
    };
    const auto bytes = [&](std::string_view read) {
      push(maker_.text(Kind::bytes, std::string(read)));
    };
    switch (operation) {
      case 'N':
        return push(maker_.none()), true;
      case '\x88':
      case '\x89':
        return push(maker_.boolean(operation == '\x88')), true;
      case 'I':
      case 'L':
        return push(decimal(line(), maker_)), true;
      case 'J':
        return push(maker_.integer(static_cast<std::int32_t>(fixed(4)))), true;
      case 'K':
        return push(maker_.integer(static_cast<std::int64_t>(fixed(1)))), true;
      case 'M':
        return push(maker_.integer(static_cast<std::int64_t>(fixed(2)))), true;
      case '\x8a':
        return push(maker_.integer_of(counted(1))), true;
      case '\x8b':
        return push(maker_.integer_of(counted(4))), true;
      case 'F':
        return push_real(real_of(line(), maker_)), true;
      case 'G':
        return push_real(big_endian_real()), true;
      case 'S':
        return push(maker_.text(Kind::text, unquoted(line(), maker_))), true;
      case 'V':
        return push(maker_.text(Kind::text, from_raw_unicode(line(), maker_))), true;
      case 'T':
      case 'X':
        return text(counted(4)), true;
      case 'U':
      case '\x8c':
        return text(counted(1)), true;
      case '\x8d':
        return text(counted(8)), true;
      case 'B':
        return bytes(counted(4)), true;
      case 'C':
        return bytes(counted(1)), true;
      case '\x8e':
      case '\x96':  // a bytearray
        return bytes(counted(8)), true;
      default:
        return false;
    }
  }

  void push_real(double value) {
    PickleValue* made = maker_.make(Kind::real);
    made->real = value;
    push(made);
  }
  double big_endian_real() {
    std::string word(take(sizeof(double)));
    std::reverse(word.begin(), word.end());
    double value = 0;
    std::memcpy(&value, word.data(), sizeof value);
    return value;
  }

  // Lists, tuples, dicts and what classes make.
  bool build(char operation) {
    switch (operation) {
      case ']':
      case '\x8f':  // a set
        return push_sequence(Kind::list, {}), true;
      case 'l':
      case '\x91':  // a frozenset
        return push_sequence(Kind::list, pop_to_mark()), true;
      case ')':
        return push_sequence(Kind::tuple, {}), true;
      case 't':
        return push_sequence(Kind::tuple, pop_to_mark()), true;
      case '\x85':
      case '\x86':
      case '\x87':
        return push_sequence(Kind::tuple, pop_some(static_cast<unsigned char>(operation) - 0x84u)),
               true;
      case '}':
        return push_dict({}), true;
      case 'd':
        return push_dict(pop_to_mark()), true;
      case 'a':
        return add_items(Kind::list, pop_some(1)), true;
      case 'e':
      case '\x90':  // to a set
        return add_items(Kind::list, pop_to_mark()), true;
      case 's':
        return add_items(Kind::dict, pop_some(2)), true;
      case 'u':
        return add_items(Kind::dict, pop_to_mark()), true;
      case 'c': {
        const std::string_view module = line();
        return push(name_value(module, line(), maker_)), true;
      }
      case '\x93': {
        const Values names = pop_some(2);
        if (names[0]->kind != Kind::text || names[1]->kind != Kind::text) {
          maker_.fail("a class is named by what is no text");
        }
        return push(name_value(names[0]->text, names[1]->text, maker_)), true;
      }
      case 'R':
      case '\x81': {  // a new object of a class
        const Values parts = pop_some(2);
        return push(call(*parts[0], *parts[1], maker_)), true;
      }
      case 'b': {
        const PickleValue* state = pop();
        return set_state(*top(), *state, maker_), true;
      }
      case 'Q':
        return push(storage_of(*pop(), maker_)), true;
      default:
        return false;
    }
  }

  // The stack, the memo and the frame of the pickle.
  bool arrange(char operation) {
    switch (operation) {
      case '.':
        return stopped_ = true;
      case '(':
        return marks_.push_back(stack_.size()), true;
      case '0':
        // A mark at the top goes away, too.
        if (!marks_.empty() && marks_.back() == stack_.size()) return marks_.pop_back(), true;
        return pop(), true;
      case '1':
        return pop_to_mark(), true;
      case '2':
        return push(top()), true;
      case 'p':
        return remember(number_of(line())), true;
      case 'q':
        return remember(fixed(1)), true;
      case 'r':
        return remember(fixed(4)), true;
      case '\x94':
        return remember(memo_.size()), true;
      case 'g':
        return recall(number_of(line())), true;
      case 'h':
        return recall(fixed(1)), true;
      case 'j':
        return recall(fixed(4)), true;
      case '\x80':
        if (const std::uint64_t protocol = fixed(1); protocol > 5) {
          maker_.fail(str("pickle protocol ", protocol, ", expected at most 5"));
        }
        return true;
      case '\x95':  // so many bytes belong together
        return fixed(8), true;
      default:
        return false;
    }
  }

  [[noreturn]] void refuse(char operation) const {
    const auto code = static_cast<unsigned char>(operation);
    if (operation == 'i' || operation == 'o') {
      maker_.fail("it makes an object of an old-style class, which Weft does not");
    }
    if (operation == '\x97' || operation == '\x98') {
      maker_.fail("it refers to memory outside of the pickle");
    }
    if (code >= 0x82 && code <= 0x84) maker_.fail("it uses a code of Python's copyreg module");
    if (operation == 'P' || operation == '\x92') {
      maker_.fail(str("operation ", shown(std::string(1, operation)), " is not supported"));
    }
    maker_.fail(str("there is no operation ", int{code}, ": it is no pickle, or is damaged"));
  }

  // Values below others, without a circle. The depth of each is found after those of its items.
  void check_depth(const PickleValue* root) {
    struct Step {
      const PickleValue* value;
      std::size_t next = 0;
      int depth = 1;
    };
    constexpr int kOpen = 0;
    std::unordered_map<const PickleValue*, int> depths;
    std::vector<Step> path = {{root}};
    depths[root] = kOpen;
    while (!path.empty()) {
      Step& step = path.back();
      if (step.next < step.value->items.size()) {
        const PickleValue* item = step.value->items[step.next++];
        if (item->items.empty()) {
          step.depth = std::max(step.depth, 2);
          continue;
        }
        const auto [found, is_new] = depths.emplace(item, kOpen);
        if (is_new) {
          path.push_back({item});
        } else if (found->second == kOpen) {
          maker_.fail("a value holds itself");
        } else {
          step.depth = std::max(step.depth, found->second + 1);
        }
      } else {
        const int depth = depths[step.value] = step.depth;
        path.pop_back();
        if (depth > kMostPickleDepth) {
          maker_.fail(str("more than ", kMostPickleDepth, " values lie within each other"));
        }
        if (!path.empty()) path.back().depth = std::max(path.back().depth, depth + 1);
      }
    }
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool stopped_ = false;
  Maker maker_;
  Values stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, PickleValue*> memo_;
};

}  // namespace

}  // namespace pickle

bool is_pickle(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
}

Pickle read_pickle(std::span<const std::uint8_t> bytes, const std::string& where) {
  return pickle::Machine(bytes, where).run();
}

}  // namespace weft::data
