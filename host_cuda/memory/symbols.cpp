// SPDX-License-Identifier: MIT
#include "host_cuda/memory/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>

#ifdef WEFT_WITH_BACKTRACE
#include <backtrace.h>
#endif

#include "engine/error.h"
#include "engine/extent.h"
#include "engine/symbol_names.h"
#include "host_cuda/language/runtime_api.h"
#include "host_cuda/memory/arena.h"

// The linker gathers the function-local statics of .cu files between these (shared_section.ld).
extern "C" char weft_shared_begin[], weft_shared_end[], weft_device_begin[], weft_device_end[];
extern "C" char weft_constant_begin[], weft_constant_end[];

namespace weft::host_cuda {
namespace {

// The loaded file that this code is a part of: the program, or a module of Python.
struct Image {
  std::string file;
  std::uintptr_t base = 0, begin = 0, end = 0;
};

const Image& image() {
  static const Image found = [] {
    Image result;
    const auto visit = [](dl_phdr_info* info, std::size_t, void* to) {
      const auto inside = reinterpret_cast<std::uintptr_t>(weft_constant_begin);
      const bool named = info->dlpi_name != nullptr && *info->dlpi_name != '\0';
      Image one{named ? info->dlpi_name : "/proc/self/exe", info->dlpi_addr, UINTPTR_MAX, 0};
      for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        one.begin = std::min(one.begin, one.base + segment.p_vaddr);
        one.end = std::max(one.end, one.base + segment.p_vaddr + segment.p_memsz);
      }
      if (inside < one.begin || inside >= one.end) return 0;
      *static_cast<Image*>(to) = one;
      return 1;
    };
    dl_iterate_phdr(visit, &result);
    return result;
  }();
  return found;
}

// Calls visit(address, bytes, mangled name, type) for each symbol of this file.
template <class Visit>
void visit_symbols(Visit visit) {
  const int file = open(image().file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) return;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return;
  const char* data = static_cast<const char*>(mapped);
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(data);
  const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(data + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const auto* symbols = reinterpret_cast<const ElfW(Sym)*>(data + sections[i].sh_offset);
    const char* names = data + sections[sections[i].sh_link].sh_offset;
    for (std::size_t s = 0; s < sections[i].sh_size / sizeof(ElfW(Sym)); ++s) {
      const ElfW(Sym)& symbol = symbols[s];
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
      visit(image().base + symbol.st_value, symbol.st_size, names + symbol.st_name,
            symbol.st_info & 15);
    }
  }
  munmap(mapped, bytes);
}

// Of "kernel(float*)::tile[abi:shared]": "tile".
std::string variable_name(const std::string& name) {
  const std::size_t scope = name.rfind("::");
  const std::string last = scope == std::string::npos ? name : name.substr(scope + 2);
  return last.substr(0, last.find('['));
}

// addr2line's "/path/to/weft/kernels/x.cu:31 (discriminator 2)" becomes "kernels/x.cu:31".
std::string within_project(std::string line) {
  line = line.substr(0, line.find(" (discriminator"));
  line = std::filesystem::path(line).lexically_normal().string();  // ccache leaves build/../
  const std::string root = std::string(WEFT_SOURCE_DIR) + "/";
  if (line.starts_with(root)) return line.substr(root.size());
  // libbacktrace does not know the folder that the paths of ccache are relative to.
  const std::size_t name = line.find_first_not_of("./");
  const bool is_kernel =
      name != std::string::npos && line.starts_with("../") &&
      (line.compare(name, 8, "kernels/") == 0 || line.compare(name, 7, "engine/") == 0);
  return is_kernel ? line.substr(name) : line;
}

// Parts of the names of this layer's headers, in the tree, in a build and installed.
constexpr std::string_view kOwnHeaders[] = {"host_cuda/include/", "host_cuda/language/",
                                            "host_cuda/checks/",  "lab/lab/api/",
                                            "lab/lab/runtime/",   "weft-lab/"};

std::recursive_mutex names_mutex;  // of what is known of addresses
std::map<const void*, std::string> known_lines;

// `lines`: of one address, a line per inlined call, innermost first. Those of this layer's own
// headers say nothing.
std::string joined_lines(const std::string& lines) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string line = within_project(lines.substr(at, end - at));
    at = end + 1;
    const bool own = std::ranges::any_of(
        kOwnHeaders, [&](std::string_view part) { return line.find(part) != std::string::npos; });
    if (own || line.starts_with("??") || line.ends_with(":?")) {
      continue;
    }
    text += (text.empty() ? "" : ", called at ") + line;
  }
  return text.empty() ? "an unknown line" : text;
}

// By address.
std::vector<Variable> variables_between(const char* begin, const char* end) {
  std::vector<Variable> found;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  visit_symbols([&](std::uintptr_t address, std::size_t bytes, const char* name, int type) {
    if (type != STT_OBJECT || address < first || address >= reinterpret_cast<std::uintptr_t>(end)) {
      return;
    }
    found.push_back({address, bytes, name});
  });
  std::sort(found.begin(), found.end(),
            [](const Variable& a, const Variable& b) { return a.begin < b.begin; });
  for (Variable& one : found) one.name = variable_name(demangled(one.name.c_str()));
  return found;
}

const Variable* nearest(const std::vector<Variable>& all, std::uintptr_t address) {
  const auto next =
      std::upper_bound(all.begin(), all.end(), address,
                       [](std::uintptr_t value, const Variable& one) { return value < one.begin; });
  return next == all.begin() ? nullptr : &*(next - 1);
}

}  // namespace

#ifdef WEFT_WITH_BACKTRACE  // a package: the program addr2line may not be there
namespace {

std::string lines_at(const void* site) {
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, nullptr, nullptr);
  std::string lines;
  const auto add = [](void* to, std::uintptr_t, const char* file, int line, const char*) {
    if (file != nullptr) *static_cast<std::string*>(to) += str(file, ':', line, '\n');
    return 0;
  };
  backtrace_pcinfo(
      state, reinterpret_cast<std::uintptr_t>(site) - 1, add, [](void*, const char*, int) {},
      &lines);
  return lines;
}

}  // namespace

void find_source_lines(const std::vector<const void*>& wanted) {
  const std::lock_guard lock(names_mutex);
  for (const void* site : wanted) {
    if (!known_lines.contains(site)) known_lines[site] = joined_lines(lines_at(site));
  }
}
#else
namespace {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  for (char buffer[512]; std::fgets(buffer, sizeof buffer, pipe) != nullptr;) text += buffer;
  pclose(pipe);
  return text;
}

}  // namespace

// addr2line reads all debug information anew each time, so one call asks for many addresses.
void find_source_lines(const std::vector<const void*>& wanted) {
  const std::lock_guard lock(names_mutex);
  constexpr std::size_t kAtOnce = 1000;
  std::vector<const void*> sites;
  std::ranges::copy_if(wanted, std::back_inserter(sites),
                       [](const void* site) { return !known_lines.contains(site); });
  std::error_code unknown;
  const std::string self = std::filesystem::canonical(image().file, unknown).string();
  for (std::size_t first = 0; first < sites.size(); first += kAtOnce) {
    const std::size_t last = std::min(sites.size(), first + kAtOnce);
    std::string command = str("addr2line -a -i -e '", self, "'");
    for (std::size_t i = first; i < last; ++i) {
      const std::uintptr_t call = reinterpret_cast<std::uintptr_t>(sites[i]) - 1 - image().base;
      char address[32];
      std::snprintf(address, sizeof address, " 0x%zx", static_cast<std::size_t>(call));
      command += address;
    }
    const std::string lines = output_of(command + " 2>/dev/null");  // "0x1234" before those of each
    std::size_t at = lines.find("0x");
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t begin = std::min(lines.find('\n', at), lines.size() - 1) + 1;
      const std::size_t next = lines.find("\n0x", begin - 1);
      const std::size_t end = std::min(next, lines.size());
      known_lines[sites[i]] =
          begin < end ? joined_lines(lines.substr(begin, end - begin)) : "an unknown line";
      at = end == lines.size() ? end : next + 1;
    }
  }
}
#endif

std::string source_text(const std::string& name) {
  std::error_code unknown;
  const auto folder = std::filesystem::canonical(image().file, unknown).parent_path();
  for (const std::filesystem::path& root :
       {std::filesystem::path(WEFT_SOURCE_DIR), folder / "source", folder / "../source",
        folder / "../lib/weft/source"}) {
    std::ifstream file(root / name);
    if (file) return {std::istreambuf_iterator<char>(file), {}};
  }
  return "";
}

const std::vector<Variable>& shared_variables() {
  static const std::vector<Variable> variables =
      variables_between(weft_shared_begin, weft_shared_end);
  return variables;
}
const std::vector<Variable>& device_variables() {
  static const std::vector<Variable> variables =
      variables_between(weft_device_begin, weft_device_end);
  return variables;
}
void share_device_variables() {
  const auto begin = reinterpret_cast<std::uintptr_t>(weft_device_begin);
  const std::size_t bytes = static_cast<std::size_t>(weft_device_end - weft_device_begin);
  if (bytes > 0 && begin % kPage == 0) share_memory(weft_device_begin, round_up(bytes, kPage));
}
const Variable* nearest_shared_variable(std::uintptr_t address) {
  return nearest(shared_variables(), address);
}

const std::vector<Variable>& constant_variables() {
  static const std::vector<Variable> variables =
      variables_between(weft_constant_begin, weft_constant_end);
  return variables;
}

std::size_t constant_bytes() {
  std::size_t bytes = 0;
  for (const Variable& one : constant_variables()) bytes += one.bytes;
  return bytes;
}

// A variable of the function _Z1kPi is called _ZZ1kPiE and its own name (Itanium C++ ABI, local
// names).
std::size_t shared_bytes_of(const void* kernel) {
  std::string local;
  visit_symbols([&](std::uintptr_t address, std::size_t, const char* name, int type) {
    const bool is_mangled = name[0] == '_' && name[1] == 'Z';
    if (type == STT_FUNC && is_mangled && address == reinterpret_cast<std::uintptr_t>(kernel)) {
      local = str("_ZZ", name + 2, "E");
    }
  });
  std::size_t bytes = 0;
  visit_symbols([&](std::uintptr_t address, std::size_t size, const char* name, int type) {
    const bool is_shared = address >= reinterpret_cast<std::uintptr_t>(weft_shared_begin) &&
                           address < reinterpret_cast<std::uintptr_t>(weft_shared_end);
    if (type != STT_FUNC && is_shared && !local.empty() &&
        std::string_view(name).starts_with(local)) {
      bytes += size;
    }
  });
  return bytes;
}

const Variable* constant_at(std::uintptr_t address) {
  const std::vector<Variable>& variables = constant_variables();
  return address < reinterpret_cast<std::uintptr_t>(weft_constant_end) ? nearest(variables, address)
                                                                       : nullptr;
}

bool in_program(std::uintptr_t address) {
  return address >= image().begin && address < image().end;
}

std::string function_name(const void* function) {
  const std::lock_guard lock(names_mutex);
  static std::map<const void*, std::string> known;
  std::string& name = known[function];
  if (name.empty()) {
    name = "a kernel";
    visit_symbols([&](std::uintptr_t address, std::size_t, const char* mangled, int type) {
      if (type == STT_FUNC && address == reinterpret_cast<std::uintptr_t>(function)) {
        name = short_name(demangled(mangled), {"weft::kernels::cuda::", "weft::kernels::"});
      }
    });
  }
  return name;
}

std::string kernel_name(const Call& call) {
  return call.name() != nullptr ? call.name() : function_name(call.kernel());
}

std::string source_line(const void* site) {
  const std::lock_guard lock(names_mutex);
  const auto known = known_lines.find(site);
  if (known != known_lines.end()) return known->second;
  find_source_lines({site});
  return known_lines[site];
}

}  // namespace weft::host_cuda
