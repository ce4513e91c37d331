// SPDX-License-Identifier: MIT
// What a Python pickle holds, protocols 0 to 5, without executing anything.
//
// A pickle is a program for a small machine that can call any function of Python. This reader
// runs none of them: it knows the operations that build values, and a list of harmless classes
// whose values it makes itself (classes.cpp). Any other operation or class is refused by its
// name. The format is described in CPython's Lib/pickletools.py, and what PyTorch writes in
// torch/serialization.py and torch/_utils.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/arrays/npy.h"

namespace weft::data {

// The values of PyTorch's tensors lie outside of the pickle, under this key.
struct TorchStorage {
  std::string key;            // "0", "1", ...
  std::string type;           // "FloatStorage", "HalfStorage", ...
  std::int64_t elements = 0;  // that it is said to hold, at least 0
};

// A view of a storage: element (i, j, ...) is at offset + i strides[0] + j strides[1] + ...
struct TorchTensor {
  TorchStorage storage;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape, strides;  // as many of each, none negative
};

struct PickleValue {
  enum class Kind {
    none,
    boolean,        // integer is 0 or 1
    integer,        // of 64 bits
    large_integer,  // of more; `text` is its bytes, little-endian, two's complement
    real,
    text,     // UTF-8; Python 2's str is any bytes
    bytes,    // also a bytearray
    list,     // also a set
    tuple,    // also a torch.Size
    dict,     // also an OrderedDict and an argparse.Namespace
    name,     // of a class or a constant: `text` is "torch.float32"
    dtype,    // of NumPy; `text` is "<f4"
    array,    // of NumPy, also one of its scalars
    storage,  // of PyTorch
    tensor    // of PyTorch, also a Parameter
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  double real = 0;
  std::string text = {};
  std::vector<const PickleValue*> items = {};  // of a dict: key, value, key, value, ...
  std::unique_ptr<NpyArray> array = nullptr;
  std::unique_ptr<TorchStorage> storage = nullptr;
  std::unique_ptr<TorchTensor> tensor = nullptr;

  bool is_text() const { return kind == Kind::text || kind == Kind::bytes; }
  // The value of a dict under a key that is text; null where there is none, and for another kind.
  // The last one counts, as in Python.
  const PickleValue* find(std::string_view key) const;
};

// "an array", "a tensor of PyTorch", ...
std::string_view name_of(PickleValue::Kind kind);

// Values may be shared by several others, and no value holds itself. Whoever walks through shared
// values should visit each of them once: a short file could describe very many ways to one.
struct Pickle {
  std::unique_ptr<std::deque<PickleValue>> values;  // that others point to
  const PickleValue* root = nullptr;
  std::size_t bytes = 0;  // that it took of the input: another pickle may follow
};

inline constexpr std::size_t kMostPickleValues = std::size_t{1} << 22;
inline constexpr int kMostPickleDepth = 100;  // of values in values

// By its first bytes: protocol 2 to 5. Older ones have no mark of their own.
bool is_pickle(std::span<const std::uint8_t> bytes);

// Throws data, naming `where` and the byte, for a pickle that is damaged or asks for what is not on
// the list. The same for one that goes beyond the limits above, or refers to memory outside of it.
// Takes memory in proportion to the input.
Pickle read_pickle(std::span<const std::uint8_t> bytes, const std::string& where);

}  // namespace weft::data
