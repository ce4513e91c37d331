// SPDX-License-Identifier: MIT
// From CUDA C++ to what a host compiler takes: launches, dynamic shared memory, and variables of
// the device. All else is CUDA's names, which the headers of host_cuda/ have. No line moves.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lab/tokens.h"

namespace weft::lab {

// `length` characters at `begin` become `text`.
struct Edit {
  std::size_t begin = 0, length = 0;
  std::string text;
};

// The names of the kernels of all files. `templates` are called by their names where the others are
// called through a pointer: templates, and kernels with default arguments. So are kernels whose
// name a function of the host has, too. Of those in `overloaded` the compiler finds out which it
// is.
struct KernelNames {
  std::set<std::string, std::less<>> plain, templates, functions;
  std::set<std::string, std::less<>> overloaded;  // several kernels, or one in two spellings
  std::map<std::string, std::string> types;       // of the parameters where it was seen first
};
void collect_kernels(const TokenView& code, KernelNames& names);

// Something that the lab does not do.
struct Refusal {
  int line = 0;
  std::string reason;  // a sentence
};

struct Rewriting {
  std::vector<Edit> edits;
  std::vector<Refusal> refusals;
};
void rewrite(std::string_view source, const Tokens& tokens, const KernelNames& kernels,
             Rewriting& result);

std::string applied(std::string_view source, std::vector<Edit> edits);

}  // namespace weft::lab
