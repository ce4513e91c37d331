// SPDX-License-Identifier: MIT
// Each instruction of the PTX ISA that the lab has, as C++. Registers are C++ variables of any type
// with enough bits; weft_ptx::as<T> reads one as what the instruction takes it for.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lab/ptx/ptx_values.h"

namespace weft::lab {
namespace {

// Between the opcode and the type only what does not change a result of the host's arithmetic.
void only(const PtxInstruction& one, std::size_t begin, std::size_t from_end,
          std::initializer_list<std::string_view> parts) {
  for (std::size_t i = begin; i + from_end < one.parts.size(); ++i) {
    if (std::find(parts.begin(), parts.end(), one.parts[i]) == parts.end()) unknown(one);
  }
}

PtxOperand register_named(const std::string& name) {
  PtxOperand one;
  one.text = name;
  return one;
}

struct Function {
  std::string_view opcode, name;
  std::size_t operands;
};
constexpr Function kFunctions[] = {
    {"add", "add", 2},          {"sub", "sub", 2},      {"mul", "mul", 2},
    {"mul.lo", "mul", 2},       {"mul24.lo", "mul", 2}, {"mul.hi", "mul_hi", 2},
    {"mad", "mad", 3},          {"mad.lo", "mad", 3},   {"mad24.lo", "mad", 3},
    {"mad.hi", "mad_hi", 3},    {"fma", "fma", 3},      {"div", "div", 2},
    {"rem", "rem", 2},          {"min", "min", 2},      {"max", "max", 2},
    {"neg", "neg", 1},          {"abs", "abs", 1},      {"and", "bit_and", 2},
    {"or", "bit_or", 2},        {"xor", "bit_xor", 2},  {"not", "bit_not", 1},
    {"popc", "popc", 1},        {"clz", "clz", 1},      {"brev", "brev", 1},
    {"sqrt", "sqrt", 1},        {"rcp", "rcp", 1},      {"rsqrt", "rsqrt", 1},
    {"ex2", "ex2", 1},          {"lg2", "lg2", 1},      {"sin", "sin", 1},
    {"cos", "cos", 1},          {"tanh", "tanh", 1},    {"prmt", "prmt", 3},
    {"copysign", "copysign", 2}};

std::string arithmetic(const PtxInstruction& one) {
  std::string opcode = one.parts[0];
  std::size_t begin = 1;
  if (one.parts.size() > 2 && (one.parts[1] == "lo" || one.parts[1] == "hi")) {
    opcode += "." + one.parts[1];
    begin = 2;
  }
  for (const Function& function : kFunctions) {
    if (opcode != function.opcode) continue;
    only(one, begin, 1, {"rn", "ftz", "approx", "full"});
    const std::string type = type_or_unknown(one);
    std::string arguments;
    for (std::size_t i = 1; i <= function.operands; ++i) {
      arguments += (i > 1 ? ", " : "") + value(one, i, type);
    }
    return put(operand(one, 0),
               fmt::format("weft_ptx::{}<{}>({})", function.name, type, arguments));
  }
  unknown(one);
}

// mul.wide and mad.wide: the result has twice the bits.
std::string wide(const PtxInstruction& one) {
  const std::string type = type_or_unknown(one);
  std::string text =
      fmt::format("weft_ptx::wide({}) * {}", value(one, 1, type), value(one, 2, type));
  if (one.parts[0] == "mad") {
    text += fmt::format(" + weft_ptx::as<decltype(weft_ptx::wide({}()))>({})", type,
                        operand(one, 3).text);
  }
  return put(operand(one, 0), text);
}

std::string shift(const PtxInstruction& one) {
  const std::string type = type_or_unknown(one);
  return put(operand(one, 0), fmt::format("weft_ptx::{}<{}>({}, {})", one.parts[0], type,
                                          value(one, 1, type), value(one, 2, "unsigned")));
}

std::string moved(const PtxInstruction& one) {
  const std::string type = type_or_unknown(one);
  only(one, 1, 1, {});
  const PtxOperand &to = operand(one, 0), &from = operand(one, 1);
  std::string text;
  if (!from.list.empty()) {
    text = "unsigned long long weft_all = 0; ";
    for (std::size_t i = 0; i < from.list.size(); ++i) {
      text += fmt::format("weft_ptx::pack<{}>(weft_all, {}, {}, {}); ", type, i, from.list.size(),
                          from.list[i].text);
    }
    return "{ " + text + put(to, fmt::format("weft_ptx::as<{}>(weft_all)", type)) + "} ";
  }
  if (to.list.empty()) return put(to, value(from, type));
  for (std::size_t i = 0; i < to.list.size(); ++i) {
    text += fmt::format("weft_ptx::unpack<{}>(weft_all, {}, {}, {}); ", type, i, to.list.size(),
                        to.list[i].text);
  }
  return fmt::format("{{ const unsigned long long weft_all = {}; {}}} ", value(from, type), text);
}

// setp.lt.f32 p, a, b;  selp.f32 d, a, b, p;
std::string compared(const PtxInstruction& one) {
  constexpr std::pair<std::string_view, std::string_view> kOrders[] = {
      {"eq", "=="}, {"ne", "!="}, {"lt", "<"},  {"le", "<="}, {"gt", ">"},
      {"ge", ">="}, {"lo", "<"},  {"ls", "<="}, {"hi", ">"},  {"hs", ">="}};
  const std::string type = type_or_unknown(one);
  only(one, 2, 1, {"ftz"});
  for (const auto& [name, order] : kOrders) {
    if (one.parts[1] != name) continue;
    const std::string text =
        fmt::format("{} {} {}", value(one, 1, type), order, value(one, 2, type));
    std::string out = put(operand(one, 0), text);
    if (!operand(one, 0).predicate.empty()) {
      out += put(register_named(operand(one, 0).predicate), "!(" + text + ")");
    }
    return out;
  }
  unknown(one);
}
std::string selected(const PtxInstruction& one) {
  const std::string type = type_or_unknown(one);
  return put(operand(one, 0), fmt::format("{} ? {} : {}", value(one, 3, "bool"),
                                          value(one, 1, type), value(one, 2, type)));
}

std::string converted(const PtxInstruction& one) {
  const std::string from = type_or_unknown(one), to = type_or_unknown(one, 2);
  only(one, 1, 2, {"rn", "rz", "rni", "rzi", "rmi", "rpi", "rna", "ftz", "sat"});
  if (has(one, "sat")) unknown(one);
  for (const std::string_view way : {"rni", "rzi", "rmi", "rpi"}) {
    if (has(one, way)) {
      return put(operand(one, 0),
                 fmt::format("weft_ptx::to_integer_{}<{}>({})", way, to, value(one, 1, from)));
    }
  }
  if (has(one, "rz") && to != "float") unknown(one);
  return put(operand(one, 0), fmt::format("weft_ptx::convert<{}>({})", to, value(one, 1, from)));
}

std::string shuffled(const PtxInstruction& one) {
  if (one.parts.size() != 4 || one.parts[1] != "sync" || one.parts[3] != "b32") unknown(one);
  const std::string mode = one.parts[2];
  const PtxOperand& to = operand(one, 0);
  std::string out = "{ ";
  if (!to.predicate.empty()) {
    out += fmt::format("const bool weft_in = weft_ptx::shuffle_in_range_{}({}, {}); ", mode,
                       value(one, 2, "unsigned"), value(one, 3, "unsigned"));
  }
  const char* function = mode == "idx"    ? "__shfl_sync"
                         : mode == "up"   ? "__shfl_up_sync"
                         : mode == "down" ? "__shfl_down_sync"
                         : mode == "bfly" ? "__shfl_xor_sync"
                                          : nullptr;
  if (function == nullptr) unknown(one);
  out += put(to, fmt::format("{}({}, {}, {}, weft_ptx::shuffle_width({}))", function,
                             value(one, 4, "unsigned"), value(one, 1, "unsigned"),
                             value(one, 2, "int"), value(one, 3, "unsigned")));
  if (!to.predicate.empty()) out += put(register_named(to.predicate), "weft_in");
  return out + "} ";
}

std::string voted(const PtxInstruction& one) {
  const char* function = has(one, "ballot") ? "__ballot_sync"
                         : has(one, "any")  ? "__any_sync"
                         : has(one, "all")  ? "__all_sync"
                                            : nullptr;
  if (function == nullptr || !has(one, "sync")) unknown(one);
  return put(operand(one, 0),
             fmt::format("{}({}, {})", function, value(one, 2, "unsigned"), value(one, 1, "bool")));
}

// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c;
std::string multiplied(const PtxInstruction& one) {
  if (one.parts.size() != 10 || one.parts[4] != "row" || one.parts[5] != "col" ||
      one.parts[7] != one.parts[8] || one.parts[6] != one.parts[9]) {
    unknown(one);
  }
  const std::string shape = one.parts[3], type = one.parts[7];
  const bool half_sums = one.parts[6] == "f16";
  if ((shape != "m16n8k16" && shape != "m16n8k8") || (half_sums && type != "f16")) unknown(one);
  if (type != "f16" && type != "bf16" && !(type == "tf32" && shape == "m16n8k8")) unknown(one);
  const std::size_t sums = half_sums ? 2 : 4;
  const std::size_t left = shape == "m16n8k16" || type == "tf32" ? 4 : 2, right = left / 2;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t wanted = i == 1 ? left : i == 2 ? right : sums;
    if (operand(one, i).list.size() != wanted && (wanted > 1 || operand(one, i).text.empty())) {
      throw std::invalid_argument(
          fmt::format("operand {} of '{}' has {} registers.", i, one.opcode(), wanted));
    }
  }
  const auto words = [&](std::size_t i, std::string_view as) {
    if (operand(one, i).list.empty()) return value(one, i, as);
    std::string text;
    for (const PtxOperand& word : one.operands[i].list) {
      text += (text.empty() ? "" : ", ") + value(word, as);
    }
    return text;
  };
  const std::string_view sum = half_sums ? "unsigned" : "float";
  std::string out = fmt::format(
      "{{ const unsigned weft_a[{}] = {{{}}}, weft_b[{}] = {{{}}}; {} weft_d[{}] = {{{}}}; "
      "weft_ptx::{}(weft_d, weft_a, weft_b); ",
      left, words(1, "unsigned"), right, words(2, "unsigned"), sum, sums, words(3, sum),
      type == "f16" ? "halves" : shape + "_" + type);
  for (std::size_t i = 0; i < sums; ++i) {
    out += put(operand(one, 0).list[i], fmt::format("weft_d[{}]", i));
  }
  return out + "} ";
}

std::string bit_fields(const PtxInstruction& one) {
  const std::string type = type_or_unknown(one);
  if (one.parts[0] == "bfe") {
    return put(operand(one, 0),
               fmt::format("weft_ptx::bfe<{}>({}, {}, {})", type, value(one, 1, type),
                           value(one, 2, "unsigned"), value(one, 3, "unsigned")));
  }
  if (one.parts[0] == "bfi") {
    return put(operand(one, 0), fmt::format("weft_ptx::bfi<{}>({}, {}, {}, {})", type,
                                            value(one, 1, type), value(one, 2, type),
                                            value(one, 3, "unsigned"), value(one, 4, "unsigned")));
  }
  return put(operand(one, 0), fmt::format("weft_ptx::lop3({}, {}, {}, {})",
                                          value(one, 1, "unsigned"), value(one, 2, "unsigned"),
                                          value(one, 3, "unsigned"), value(one, 4, "unsigned")));
}

std::string barrier(const PtxInstruction& one) {
  const std::string opcode = one.opcode();
  if (opcode == "bar.warp.sync") {
    return fmt::format("__syncwarp({}); ", value(one, 0, "unsigned"));
  }
  const bool of_block = opcode == "bar.sync" || opcode == "barrier.sync" ||
                        opcode == "barrier.sync.aligned" || opcode == "bar.cta.sync";
  if (!of_block || one.operands.size() != 1 || one.operands[0].text != "0") unknown(one);
  return "__syncthreads(); ";
}

std::string text_of(const PtxInstruction& one) {
  const std::string& name = one.parts[0];
  const bool is_wide = one.parts.size() > 1 && one.parts[1] == "wide";
  if (name == "mov") return moved(one);
  if ((name == "mul" || name == "mad") && is_wide) return wide(one);
  if (name == "shl" || name == "shr") return shift(one);
  if (name == "setp") return compared(one);
  if (name == "selp") return selected(one);
  if (name == "cvt") return converted(one);
  if (name == "membar" || name == "fence") {
    if (has(one, "proxy") || has(one, "mbarrier_init")) unknown(one);
    return fence_of(one);
  }
  if (name == "bar" || name == "barrier") return barrier(one);
  if (name == "shfl") return shuffled(one);
  if (name == "vote") return voted(one);
  if (name == "activemask") return put(operand(one, 0), "__activemask()");
  if (name == "mma") return multiplied(one);
  if (name == "bfe" || name == "bfi" || name == "lop3") return bit_fields(one);
  if (name == "prefetch" || name == "prefetchu" || name == "discard") return "";
  if (name == "nanosleep") return "";
  if (name == "trap") return "weft_ptx::stop(); ";
  if (const std::string text = memory_cpp(one); !text.empty()) return text;
  return arithmetic(one);
}

}  // namespace

std::string cpp_of(const PtxInstruction& one) {
  if (!one.declaration.empty()) return one.declaration;
  const std::string text = text_of(one);
  if (one.guard.text.empty()) return text;
  return fmt::format("if ({}) {{ {}}} ", value(one.guard, "bool"), text);
}

}  // namespace weft::lab
