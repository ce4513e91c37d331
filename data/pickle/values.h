// SPDX-License-Identifier: MIT
// The values of a pickle while it is read. Internal to the reader of pickles.
#pragma once

#include <array>
#include <string>

#include "data/pickle/pickle.h"

namespace weft::data::pickle {

using Kind = PickleValue::Kind;
using Values = std::vector<PickleValue*>;

// Makes values, and counts them and the memory that they take.
class Maker {
 public:
  // `input_bytes` long is the pickle.
  Maker(const std::string& where, std::size_t input_bytes);

  // Throws Error{data} that names the file and the byte.
  [[noreturn]] void fail(const std::string& what) const;
  void set_place(std::size_t at) { at_ = at; }

  PickleValue* make(Kind kind);
  PickleValue* text(Kind kind, std::string text);
  PickleValue* integer(std::int64_t value);
  PickleValue* boolean(bool value);
  PickleValue* none() { return none_; }
  // `bytes` of a two's complement, the lowest first.
  PickleValue* integer_of(std::string_view bytes);
  // Counts memory for a copy of what is there already: a few bytes could ask for many copies.
  void spend(std::size_t bytes);

  void check_arrays() const;  // throws for one that never got its state
  std::unique_ptr<std::deque<PickleValue>> take() { return std::move(values_); }

 private:
  const std::string& where_;
  std::size_t at_ = 0, left_;
  std::unique_ptr<std::deque<PickleValue>> values_ = std::make_unique<std::deque<PickleValue>>();
  PickleValue* none_;
  std::array<PickleValue*, 2> booleans_;
  std::array<PickleValue*, 256> small_ = {};  // integers, made when they are first met
};

// classes.cpp: what the allowed classes and functions make.

// The value that stands for `module.name`. Refuses one that is not on the list.
PickleValue* name_value(std::string_view module, std::string_view name, Maker& maker);
// What the class or function `callee` makes of its arguments.
PickleValue* call(const PickleValue& callee, const PickleValue& arguments, Maker& maker);
// Gives a value its state, as __setstate__ would.
void set_state(PickleValue& value, const PickleValue& state, Maker& maker);
// PyTorch's persistent identity of a storage.
PickleValue* storage_of(const PickleValue& identity, Maker& maker);

// literals.cpp: the text of protocols 0 and 1.

// What is between the quotes of a string of Python 2.
std::string unquoted(std::string_view line, const Maker& maker);
// Python's raw-unicode-escape as UTF-8, and UTF-8 as Latin-1.
std::string from_raw_unicode(std::string_view text, const Maker& maker);
std::string to_latin1(std::string_view text, const Maker& maker);
PickleValue* decimal(std::string_view line, Maker& maker);  // "12", "12L", "00", "01"
double real_of(std::string_view line, const Maker& maker);

}  // namespace weft::data::pickle
