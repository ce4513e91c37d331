// SPDX-License-Identifier: MIT
// Instructions that use memory: loads, stores, atomics, asynchronous copies, ldmatrix.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lab/ptx/ptx_values.h"

namespace weft::lab {
namespace {

// "static_cast<T*>(weft_ptx::address...)" of [a + 16].
std::string pointer(const PtxInstruction& one, const PtxOperand& to, const std::string& type) {
  const char* space = has(one, "shared") || has(one, "shared::cta") ? "shared_at" : "generic_at";
  return fmt::format("static_cast<{}*>(weft_ptx::{}({}, {}))", type, space, to.text,
                     to.offset.empty() ? "0" : to.offset);
}

std::string loaded_or_stored(const PtxInstruction& one) {
  const bool load = one.parts[0] == "ld" || one.parts[0] == "ldu";
  const std::string type = type_or_unknown(one);
  for (std::size_t i = 1; i + 1 < one.parts.size(); ++i) {
    const std::string& part = one.parts[i];
    static constexpr std::string_view kKnown[] = {
        "global", "shared", "const", "volatile", "relaxed", "acquire",    "release", "weak",
        "cta",    "gpu",    "sys",   "ca",       "cg",      "cs",         "cv",      "lu",
        "wb",     "wt",     "nc",    "v2",       "v4",      "shared::cta"};
    const bool hint = part.starts_with("L1::") || part.starts_with("L2::");
    if (!hint && std::find(std::begin(kKnown), std::end(kKnown), part) == std::end(kKnown)) {
      unknown(one);
    }
  }
  const bool strong =
      has(one, "volatile") || has(one, "relaxed") || has(one, "acquire") || has(one, "release");
  const std::size_t lanes = has(one, "v4") ? 4 : has(one, "v2") ? 2 : 1;
  const PtxOperand &memory = operand(one, load ? 1 : 0), &registers = operand(one, load ? 0 : 1);
  std::string text = has(one, "release") ? fence_of(one) : "";
  if (lanes == 1) {
    const std::string at = "*" + pointer(one, memory, (strong ? "volatile " : "") + type);
    text += load ? put(registers, fmt::format("static_cast<{}>({})", type, at))
                 : fmt::format("{} = {}; ", at, value(registers, type));
  } else {
    if (registers.list.size() != lanes || strong) unknown(one);
    const std::string vector = fmt::format("weft_ptx::Vector<{}, {}>", type, lanes);
    const std::string at = "*" + pointer(one, memory, vector);
    text += load ? fmt::format("{{ const {} weft_v = {}; ", vector, at)
                 : fmt::format("{{ {} weft_v; ", vector);
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::string element = fmt::format("weft_v.x[{}]", i);
      text += load ? put(registers.list[i], element)
                   : fmt::format("{} = {}; ", element, value(registers.list[i], type));
    }
    text += load ? "} " : at + " = weft_v; } ";
  }
  return has(one, "acquire") ? text + fence_of(one) : text;
}

// atom.global.add.u32 d, [a], b;  red.global.add.f32 [a], b;
std::string atomic(const PtxInstruction& one) {
  constexpr std::pair<std::string_view, std::string_view> kFunctionOf[] = {
      {"add", "atomicAdd"},   {"min", "atomicMin"}, {"max", "atomicMax"}, {"and", "atomicAnd"},
      {"or", "atomicOr"},     {"xor", "atomicXor"}, {"inc", "atomicInc"}, {"dec", "atomicDec"},
      {"exch", "atomicExch"}, {"cas", "atomicCAS"}};
  const std::string type = type_or_unknown(one);
  const std::size_t first = one.parts[0] == "atom" ? 1 : 0;
  for (const auto& [name, function] : kFunctionOf) {
    if (!has(one, name)) continue;
    std::string call =
        fmt::format("{}{}({}, {}", function, has(one, "cta") ? "_block" : "",
                    pointer(one, operand(one, first), type), value(one, first + 1, type));
    if (name == "cas") call += ", " + value(one, first + 2, type);
    call += ")";
    const bool releases = has(one, "release") || has(one, "acq_rel");
    const bool acquires = has(one, "acquire") || has(one, "acq_rel");
    return (releases ? fence_of(one) : "") +
           (first == 0 ? call + "; " : put(operand(one, 0), call)) +
           (acquires ? fence_of(one) : "");
  }
  unknown(one);
}

std::string copied_asynchronously(const PtxInstruction& one) {
  const std::string opcode = one.opcode();
  if (opcode == "cp.async.commit_group") return "::weft::host_cuda::async_commit(); ";
  if (opcode == "cp.async.wait_all") {
    return "::weft::host_cuda::async_commit(); ::weft::host_cuda::async_wait(0); ";
  }
  if (opcode == "cp.async.wait_group") {
    return fmt::format("::weft::host_cuda::async_wait({}); ", value(one, 0, "int"));
  }
  if (!opcode.starts_with("cp.async.ca.shared") && !opcode.starts_with("cp.async.cg.shared")) {
    unknown(one);
  }
  std::string read = value(one, 2, "int");
  if (one.operands.size() > 3) {  // what is read, or a predicate: nothing is
    const PtxOperand& last = one.operands[3];
    read = last.is_predicate ? fmt::format("{} ? 0 : {}", value(last, "bool"), read)
                             : value(last, "int");
  }
  const PtxOperand &to = operand(one, 0), &from = operand(one, 1);
  return fmt::format(
      "::weft::host_cuda::async_copy(weft_ptx::shared_at({}, {}), weft_ptx::generic_at({}, {}), "
      "{}, {}); ",
      to.text, to.offset.empty() ? "0" : to.offset, from.text,
      from.offset.empty() ? "0" : from.offset, value(one, 2, "int"), read);
}

std::string matrices_loaded(const PtxInstruction& one) {
  const std::size_t count = has(one, "x4") ? 4 : has(one, "x2") ? 2 : 1;
  const PtxOperand& to = operand(one, 0);
  if (!has(one, "m8n8") || !has(one, "b16") || (count > 1 && to.list.size() != count)) unknown(one);
  const PtxOperand& from = operand(one, 1);
  std::string out = fmt::format(
      "{{ unsigned weft_m[4]; weft_ptx::load_matrices<{}, {}>(weft_m, "
      "weft_ptx::shared_at({}, {})); ",
      count, has(one, "trans"), from.text, from.offset.empty() ? "0" : from.offset);
  for (std::size_t i = 0; i < count; ++i) {
    out += put(to.list.empty() ? to : to.list[i], fmt::format("weft_m[{}]", i));
  }
  return out + "} ";
}

std::string cvta(const PtxInstruction& one) {
  const bool shared = has(one, "shared");
  if (!shared) return put(operand(one, 0), value(one, 1, "unsigned long long"));
  return put(operand(one, 0),
             has(one, "to") ? fmt::format("weft_ptx::to_shared({})", operand(one, 1).text)
                            : fmt::format("weft_ptx::shared_at({}, 0)", operand(one, 1).text));
}

}  // namespace

std::string memory_cpp(const PtxInstruction& one) {
  const std::string& name = one.parts[0];
  if (name == "ld" || name == "ldu" || name == "st") return loaded_or_stored(one);
  if (name == "atom" || name == "red") return atomic(one);
  if (name == "cp") return copied_asynchronously(one);
  if (name == "ldmatrix") return matrices_loaded(one);
  if (name == "cvta") return cvta(one);
  return "";
}

}  // namespace weft::lab
