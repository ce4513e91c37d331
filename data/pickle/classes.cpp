// SPDX-License-Identifier: MIT
// The classes and functions that a pickle may name. What each of them makes is made here; nothing
// of Python is called.
#include <algorithm>
#include <array>
#include <optional>

#include "data/arrays/npy_header.h"
#include "data/arrays/npy_text.h"
#include "data/pickle/values.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data::pickle {
namespace {

using Items = std::span<const PickleValue* const>;

enum class Callee {
  list_of,     // a set of a list
  bytes_of,    // bytes() and bytearray()
  dict_of,     // OrderedDict, argparse.Namespace
  default_of,  // defaultdict(factory)
  tuple_of,    // torch.Size
  encode,      // _codecs.encode(text, "latin1")
  construct,   // copyreg._reconstructor(class, object, None)
  dtype,
  array,      // numpy's _reconstruct(), whose state follows
  scalar,     // of numpy
  buffer,     // numpy's _frombuffer(bytes, dtype, shape, order)
  tensor,     // _rebuild_tensor(), _rebuild_tensor_v2()
  parameter,  // _rebuild_parameter(tensor, ...)
  subclass,   // _rebuild_from_type_v2(function, type, arguments, state)
  device,     // torch.device("cpu")
  none,       // it is a name, and is never called
};

struct Name {
  std::string_view module, name;
  Callee callee;
};

constexpr Name kNames[] = {
    {"builtins", "set", Callee::list_of},
    {"builtins", "frozenset", Callee::list_of},
    {"builtins", "bytes", Callee::bytes_of},
    {"builtins", "bytearray", Callee::bytes_of},
    {"builtins", "object", Callee::none},
    {"builtins", "int", Callee::none},
    {"builtins", "float", Callee::none},
    {"builtins", "str", Callee::none},
    {"builtins", "list", Callee::none},
    {"builtins", "dict", Callee::none},
    {"collections", "OrderedDict", Callee::dict_of},
    {"collections", "defaultdict", Callee::default_of},
    {"argparse", "Namespace", Callee::dict_of},
    {"copyreg", "_reconstructor", Callee::construct},
    {"_codecs", "encode", Callee::encode},
    {"numpy", "ndarray", Callee::none},
    {"numpy", "dtype", Callee::dtype},
    {"numpy.core.multiarray", "_reconstruct", Callee::array},
    {"numpy.core.multiarray", "scalar", Callee::scalar},
    {"numpy.core.numeric", "_frombuffer", Callee::buffer},
    {"torch", "Size", Callee::tuple_of},
    {"torch", "device", Callee::device},
    {"torch", "Tensor", Callee::none},
    {"torch._tensor", "Tensor", Callee::none},
    {"torch.nn.parameter", "Parameter", Callee::none},
    {"torch._utils", "_rebuild_tensor", Callee::tensor},
    {"torch._utils", "_rebuild_tensor_v2", Callee::tensor},
    {"torch._utils", "_rebuild_parameter", Callee::parameter},
    {"torch._utils", "_rebuild_parameter_with_state", Callee::parameter},
    {"torch._tensor", "_rebuild_from_type_v2", Callee::subclass},
};

// Types of elements, and storages of them, are names too.
constexpr std::string_view kTorchTypes[] = {"float64", "float32", "float16", "bfloat16", "int64",
                                            "int32",   "int16",   "int8",    "uint8",    "bool"};
constexpr std::string_view kStorages[] = {
    "DoubleStorage", "FloatStorage", "HalfStorage", "BFloat16Storage", "LongStorage",
    "IntStorage",    "ShortStorage", "CharStorage", "ByteStorage",     "BoolStorage"};

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// Modules that have changed their names.
std::string_view today(std::string_view module) {
  if (module == "__builtin__") return "builtins";
  if (module == "copy_reg") return "copyreg";
  if (module == "numpy._core.multiarray") return "numpy.core.multiarray";
  return module == "numpy._core.numeric" ? "numpy.core.numeric" : module;
}

const Name* find(std::string_view module, std::string_view name) {
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& known) {
    return known.module == module && known.name == name;
  });
  return found == std::end(kNames) ? nullptr : found;
}

[[noreturn]] void bad_arguments(const PickleValue& callee, const Maker& maker) {
  maker.fail(str(callee.text, " has other arguments than it takes"));
}

// The arguments of one call, each checked when it is asked for.
class Arguments {
 public:
  Arguments(const PickleValue& callee, Items items, Maker& maker)
      : callee_(callee), items_(items), maker_(maker) {}

  std::size_t size() const { return items_.size(); }
  const PickleValue& at(std::size_t i, std::initializer_list<Kind> kinds) const {
    if (i >= items_.size()) bad();
    const auto fits = [&](Kind kind) { return items_[i]->kind == kind; };
    if (std::none_of(kinds.begin(), kinds.end(), fits)) bad();
    return *items_[i];
  }
  std::int64_t count(std::size_t i) const {
    const std::int64_t value = at(i, {Kind::integer}).integer;
    if (value < 0) bad();
    return value;
  }
  // A tuple of sizes or steps.
  std::vector<std::int64_t> counts(std::size_t i) const {
    const Items items = at(i, {Kind::tuple}).items;
    if (items.size() > kMaxNpyRank) bad();
    const Arguments each(callee_, items, maker_);
    std::vector<std::int64_t> counts;
    for (std::size_t k = 0; k < items.size(); ++k) counts.push_back(each.count(k));
    return counts;
  }
  [[noreturn]] void bad() const { bad_arguments(callee_, maker_); }
  Items rest(std::size_t from) const { return items_.subspan(from); }

 private:
  const PickleValue& callee_;
  Items items_;
  Maker& maker_;
};

PickleValue* copy_of(Kind kind, Items items, Maker& maker) {
  maker.spend(items.size_bytes());
  PickleValue* made = maker.make(kind);
  made->items.assign(items.begin(), items.end());
  return made;
}

PickleValue* bytes_of(const Arguments& arguments, Maker& maker) {
  if (arguments.size() == 0) return maker.make(Kind::bytes);
  const std::string& text = arguments.at(0, {Kind::text, Kind::bytes}).text;
  maker.spend(text.size());
  // With an encoding, which is Latin-1, it is text.
  return maker.text(Kind::bytes, arguments.size() > 1 ? to_latin1(text, maker) : text);
}

PickleValue* encoded(const Arguments& arguments, Maker& maker) {
  const std::string& text = arguments.at(0, {Kind::text}).text;
  const std::string& encoding = arguments.at(1, {Kind::text}).text;
  if (encoding != "latin1" && encoding != "latin-1") {
    maker.fail(str("the encoding ", shown(encoding), ", expected latin1"));
  }
  maker.spend(text.size());
  return maker.text(Kind::bytes, to_latin1(text, maker));
}

// Python 2 gives an OrderedDict a list of [key, value].
PickleValue* dict_of(const Arguments& arguments, Maker& maker) {
  PickleValue* made = maker.make(Kind::dict);
  if (arguments.size() == 0) return made;
  const Items pairs = arguments.at(0, {Kind::list, Kind::tuple}).items;
  maker.spend(2 * pairs.size_bytes());
  for (const PickleValue* pair : pairs) {
    const bool is_pair =
        (pair->kind == Kind::list || pair->kind == Kind::tuple) && pair->items.size() == 2;
    if (!is_pair) arguments.bad();
    made->items.insert(made->items.end(), pair->items.begin(), pair->items.end());
  }
  return made;
}

std::unique_ptr<NpyArray> array_of(std::string_view descr, bool fortran_order,
                                   std::vector<std::int64_t> shape, const std::string& bytes,
                                   Maker& maker) {
  maker.spend(4 * bytes.size());  // widened, and brought into another order
  try {
    return std::make_unique<NpyArray>(
        npy_array(npy_header_of(descr, fortran_order, std::move(shape), "an array"),
                  std::as_bytes(std::span(bytes)), "an array"));
  } catch (const Error& error) {
    maker.fail(error.what());
  }
}

// An array of words becomes a list of them.
void become_words(PickleValue& value, const TextType& type, std::span<const std::int64_t> shape,
                  const std::string& bytes, Maker& maker) {
  maker.spend(4 * bytes.size());
  try {
    value.kind = Kind::list;
    for (std::string& word :
         words_of_text(type, shape, std::as_bytes(std::span(bytes)), "an array")) {
      value.items.push_back(maker.text(Kind::text, std::move(word)));
    }
  } catch (const Error& error) {
    maker.fail(error.what());
  }
}

// An array of Python's objects becomes a list of them, or what it holds where it has no axis.
void become_objects(PickleValue& value, bool has_axes, const PickleValue& objects, Maker& maker) {
  const Items items = objects.items;
  if (has_axes) {
    maker.spend(items.size_bytes());
    value.kind = Kind::list;
    value.items.assign(items.begin(), items.end());
    return;
  }
  if (items.size() != 1) maker.fail("an array without axes holds other than one object");
  const PickleValue& only = *items.front();
  if (only.kind != Kind::dict && only.kind != Kind::list && only.kind != Kind::tuple) {
    maker.fail(str("an array without axes holds ", name_of(only.kind)));
  }
  maker.spend(std::span(only.items).size_bytes());
  value.kind = only.kind;
  value.items = only.items;
}

bool is_true(const PickleValue& value) {
  return value.integer != 0;
}

PickleValue* scalar_of(const Arguments& arguments, Maker& maker) {
  const std::string& descr = arguments.at(0, {Kind::dtype}).text;
  const std::string& bytes = arguments.at(1, {Kind::text, Kind::bytes}).text;
  if (const std::optional<TextType> type = text_type(descr)) {
    PickleValue words;
    become_words(words, *type, {}, bytes, maker);
    return maker.text(Kind::text, words.items.front()->text);
  }
  PickleValue* made = maker.make(Kind::array);
  made->array = array_of(descr, false, {}, bytes, maker);
  return made;
}

PickleValue* array_from_buffer(const Arguments& arguments, Maker& maker) {
  const std::string& bytes = arguments.at(0, {Kind::text, Kind::bytes}).text;
  const std::string& descr = arguments.at(1, {Kind::dtype}).text;
  const std::string& order = arguments.at(3, {Kind::text}).text;
  if (order != "C" && order != "F") arguments.bad();
  PickleValue* made = maker.make(Kind::array);
  made->array = array_of(descr, order == "F", arguments.counts(2), bytes, maker);
  return made;
}

PickleValue* tensor_of(const Arguments& arguments, Maker& maker) {
  const PickleValue& storage = arguments.at(0, {Kind::storage});
  TorchTensor tensor{*storage.storage, arguments.count(1), arguments.counts(2),
                     arguments.counts(3)};
  if (tensor.shape.size() != tensor.strides.size()) arguments.bad();
  PickleValue* made = maker.make(Kind::tensor);
  made->tensor = std::make_unique<TorchTensor>(std::move(tensor));
  return made;
}

PickleValue* parameter_of(const Arguments& arguments, Maker& maker) {
  const PickleValue& tensor = arguments.at(0, {Kind::tensor});
  PickleValue* made = maker.make(Kind::tensor);
  made->tensor = std::make_unique<TorchTensor>(*tensor.tensor);
  return made;
}

PickleValue* of_subclass(const Arguments& arguments, Maker& maker) {
  const PickleValue& function = arguments.at(0, {Kind::name});
  const PickleValue& inner = arguments.at(2, {Kind::tuple});
  if (function.integer != static_cast<int>(Callee::tensor)) arguments.bad();
  return tensor_of(Arguments(function, inner.items, maker), maker);
}

}  // namespace

PickleValue* name_value(std::string_view module, std::string_view name, Maker& maker) {
  while (name.ends_with('\r')) name.remove_suffix(1);
  module = today(module);
  const Name* known = find(module, name);
  const bool is_torch = module == "torch" && (holds(kTorchTypes, name) || holds(kStorages, name));
  if (known == nullptr && !is_torch) {
    maker.fail(str("it asks for ", shown(str(module, ".", name)),
                   ", which is not on Weft's list of harmless classes"));
  }
  PickleValue* value = maker.text(Kind::name, str(module, ".", name));
  value->integer = static_cast<int>(known == nullptr ? Callee::none : known->callee);
  return value;
}

PickleValue* call(const PickleValue& callee, const PickleValue& tuple, Maker& maker) {
  if (callee.kind != Kind::name || tuple.kind != Kind::tuple) {
    maker.fail(str("it calls ", name_of(callee.kind), " with ", name_of(tuple.kind)));
  }
  const Arguments arguments(callee, tuple.items, maker);
  switch (static_cast<Callee>(callee.integer)) {
    case Callee::list_of:
      return copy_of(Kind::list, arguments.at(0, {Kind::list, Kind::tuple}).items, maker);
    case Callee::tuple_of:
      return copy_of(Kind::tuple, arguments.at(0, {Kind::list, Kind::tuple}).items, maker);
    case Callee::bytes_of:
      return bytes_of(arguments, maker);
    case Callee::dict_of:
      return dict_of(arguments, maker);
    case Callee::default_of:
      return maker.make(Kind::dict);
    case Callee::construct: {
      const PickleValue& made = arguments.at(0, {Kind::name});
      if (made.integer != static_cast<int>(Callee::dict_of)) arguments.bad();
      return maker.make(Kind::dict);
    }
    case Callee::encode:
      return encoded(arguments, maker);
    case Callee::dtype: {
      const std::string& descr = arguments.at(0, {Kind::text, Kind::bytes}).text;
      if (descr.size() > 16) arguments.bad();
      return maker.text(Kind::dtype, descr);
    }
    case Callee::array:  // its state has all there is
      return maker.make(Kind::array);
    case Callee::scalar:
      return scalar_of(arguments, maker);
    case Callee::buffer:
      return array_from_buffer(arguments, maker);
    case Callee::tensor:
      return tensor_of(arguments, maker);
    case Callee::parameter:
      return parameter_of(arguments, maker);
    case Callee::subclass:
      return of_subclass(arguments, maker);
    case Callee::device: {
      const std::string& text = arguments.at(0, {Kind::text}).text;
      if (text.size() > 16) arguments.bad();
      return maker.text(Kind::text, text);
    }
    case Callee::none:
      break;
  }
  maker.fail(str("it calls ", callee.text, ", which Weft does not"));
}

void set_state(PickleValue& value, const PickleValue& state, Maker& maker) {
  const PickleValue what{.kind = Kind::name, .text = str("the state of ", name_of(value.kind))};
  const Arguments fields(what, state.items, maker);
  if (value.kind == Kind::dict) {
    // The attributes of a Namespace; those of an OrderedDict, such as PyTorch's _metadata, say
    // nothing about its values.
    if (state.kind != Kind::dict || !value.items.empty()) return;
    if (state.find("_metadata") != nullptr) return;
    maker.spend(fields.rest(0).size_bytes());
    value.items = state.items;
  } else if (value.kind == Kind::dtype && state.kind == Kind::tuple) {
    const std::string& order = fields.at(1, {Kind::text, Kind::bytes}).text;  // behind a version
    if (order.size() != 1) fields.bad();
    if (std::string_view("<>=|").find(value.text[0]) == std::string_view::npos) {
      value.text = str(order, value.text);
    }
  } else if (value.kind == Kind::array && state.kind == Kind::tuple && value.array == nullptr) {
    const std::size_t first = fields.size() == 5 ? 1 : 0;  // a version, where it has one
    const std::string& descr = fields.at(first + 1, {Kind::dtype}).text;
    const bool fortran = is_true(fields.at(first + 2, {Kind::boolean, Kind::integer}));
    const std::vector<std::int64_t> shape = fields.counts(first);
    if (descr == "O8" || descr == "|O" || descr == "O" || descr == "|O8") {
      return become_objects(value, !shape.empty(), fields.at(first + 3, {Kind::list}), maker);
    }
    const PickleValue& bytes = fields.at(first + 3, {Kind::text, Kind::bytes});
    if (const std::optional<TextType> type = text_type(descr)) {
      return become_words(value, *type, shape, bytes.text, maker);
    }
    value.array = array_of(descr, fortran, shape, bytes.text, maker);
  } else {
    maker.fail(str("it sets the state of ", name_of(value.kind), " to ", name_of(state.kind)));
  }
}

PickleValue* storage_of(const PickleValue& identity, Maker& maker) {
  const PickleValue what{.kind = Kind::name, .text = "a storage of PyTorch"};
  const Arguments fields(what, identity.items, maker);
  if (identity.kind != Kind::tuple || fields.at(0, {Kind::text}).text != "storage") fields.bad();
  constexpr std::string_view kModule = "torch.";
  constexpr std::size_t kLongestKey = 64;
  std::string_view type = fields.at(1, {Kind::name}).text;
  type.remove_prefix(std::min(kModule.size(), type.size()));
  const std::string& key = fields.at(2, {Kind::text}).text;
  if (!holds(kStorages, type) || key.size() > kLongestKey) fields.bad();
  PickleValue* made = maker.make(Kind::storage);
  made->storage =
      std::make_unique<TorchStorage>(TorchStorage{key, std::string(type), fields.count(4)});
  return made;
}

}  // namespace weft::data::pickle
