// SPDX-License-Identifier: MIT
#include "data/pickle/values.h"

#include "engine/error.h"

namespace weft::data {
namespace pickle {

Maker::Maker(const std::string& where, std::size_t input_bytes)
    : where_(where), left_((std::size_t{1} << 16) + 16 * input_bytes) {
  none_ = make(Kind::none);
  for (const std::size_t value : {0, 1}) {
    booleans_[value] = make(Kind::boolean);
    booleans_[value]->integer = static_cast<std::int64_t>(value);
  }
}

void Maker::fail(const std::string& what) const {
  throw Error(ErrorKind::data, str(where_, ": pickle, at byte ", at_, ": ", what));
}

PickleValue* Maker::make(Kind kind) {
  if (values_->size() == kMostPickleValues) {
    fail(str("more than ", kMostPickleValues, " values"));
  }
  values_->emplace_back().kind = kind;
  return &values_->back();
}

PickleValue* Maker::text(Kind kind, std::string text) {
  PickleValue* value = make(kind);
  value->text = std::move(text);
  return value;
}

PickleValue* Maker::integer(std::int64_t value) {
  const bool is_small = value >= 0 && value < std::ssize(small_);
  if (is_small && small_[static_cast<std::size_t>(value)] != nullptr) {
    return small_[static_cast<std::size_t>(value)];
  }
  PickleValue* made = make(Kind::integer);
  made->integer = value;
  if (is_small) small_[static_cast<std::size_t>(value)] = made;
  return made;
}

PickleValue* Maker::boolean(bool value) {
  return booleans_[value ? 1 : 0];
}

PickleValue* Maker::integer_of(std::string_view bytes) {
  if (bytes.size() > sizeof(std::int64_t)) return text(Kind::large_integer, std::string(bytes));
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  const unsigned unused = static_cast<unsigned>(64 - 8 * bytes.size());
  if (unused == 64) return integer(0);
  return integer(static_cast<std::int64_t>(value << unused) >> unused);
}

void Maker::check_arrays() const {
  for (const PickleValue& value : *values_) {
    if (value.kind == Kind::array && value.array == nullptr) fail("an array has no elements");
  }
}

void Maker::spend(std::size_t bytes) {
  if (bytes > left_) fail("it makes more of its bytes than a pickle of its size holds");
  left_ -= bytes;
}

}  // namespace pickle

const PickleValue* PickleValue::find(std::string_view key) const {
  if (kind != Kind::dict) return nullptr;
  for (std::size_t i = items.size(); i >= 2; i -= 2) {
    if (items[i - 2]->is_text() && items[i - 2]->text == key) return items[i - 1];
  }
  return nullptr;
}

std::string_view name_of(PickleValue::Kind kind) {
  constexpr std::string_view kNames[] = {"None",
                                         "a boolean",
                                         "an integer",
                                         "an integer",
                                         "a number",
                                         "text",
                                         "bytes",
                                         "a list",
                                         "a tuple",
                                         "a dict",
                                         "a class",
                                         "a dtype",
                                         "an array",
                                         "a storage of PyTorch",
                                         "a tensor of PyTorch"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace weft::data
