// SPDX-License-Identifier: MIT
#include "lab/nvcc/shell.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "engine/text.h"
#include "lab/compile/cache.h"
#include "lab/compile/process.h"
#include "lab/compile/toolchain.h"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;

// Builds ask it for the architecture that they compile for.
constexpr const char* kNvidiaSmi = R"(#!/bin/sh
# Weft's lab, in place of nvidia-smi.
fields=
for word; do case "$word" in --query-gpu=*) fields=${word#*=} ;; esac; done
if [ -z "$fields" ]; then
  echo "Weft's lab, in place of nvidia-smi: kernels run on the CPU, as on an sm_80. There is no GPU."
  exit 0
fi
case "$*" in *noheader*) ;; *) echo "$fields" ;; esac
line=
IFS=,
for field in $fields; do
  case "$field" in
    *compute_cap) value=8.0 ;;
    *name) value="Weft's lab" ;;
    *) value="[N/A]" ;;
  esac
  line="${line:+$line, }$value"
done
echo "$line"
)";

void write_script(const fs::path& file, const std::string& text) {
  data::write_file_atomically(file, std::string_view(text));
  fs::permissions(file, fs::perms::owner_all);
}

std::string stand_in(const fs::path& shell, const fs::path& weft, const std::string& words) {
  return fmt::format("#!/bin/sh\nWEFT_LAB_SHELL={} exec {} lab nvcc {}\"$@\"\n",
                     shell_quoted(shell.string()), shell_quoted(weft.string()), words);
}

// nvcc, the host compilers that there are, and what a build looks for in a toolkit.
void fill(const fs::path& shell, const fs::path& weft, const fs::path& lab) {
  std::error_code failed;
  for (const char* name : {"bin", "lib64", "nvvm/libdevice"}) make_folder(shell / name);
  write_script(shell / "bin/nvcc", stand_in(shell, weft, ""));
  write_script(shell / "bin/nvidia-smi", kNvidiaSmi);
  for (const std::string name : {"cc", "c++", "gcc", "g++", "clang", "clang++"}) {
    if (find_command(name).empty()) {
      fs::remove(shell / "bin" / name, failed);
      continue;
    }
    write_script(shell / "bin" / name, stand_in(shell, weft, "--host-compiler " + name + " "));
  }
  for (const char* name : {"libcudart.so", "libcudart_static.a", "libcudadevrt.a"}) {
    data::write_file_atomically(shell / "lib64" / name, std::string_view("!<arch>\n"));
  }
  fs::remove(shell / "include", failed);
  fs::create_directory_symlink(lab / "host_cuda/include", shell / "include", failed);
  data::write_file_atomically(shell / "told", std::string_view(""));
  // An interactive bash reads this instead of ~/.bashrc, which may put a toolkit in front of PATH.
  data::write_file_atomically(
      shell / "bashrc",
      std::string_view(fmt::format("[ -r ~/.bashrc ] && . ~/.bashrc\nPATH={}:$PATH\n"
                                   "PS1=\"(weft lab) $PS1\"\n",
                                   shell_quoted((shell / "bin").string()))));
}

}  // namespace

int run_shell(const std::vector<std::string>& command, const fs::path& weft, const Tell& tell) {
  const Toolchain tools = find_toolchain(weft);
  const fs::path shell = cache_folder(tell) / (kShellFolder + hash(weft.string()));
  fill(shell, weft, tools.lab);
  const char* path = std::getenv("PATH");
  const std::string rest = path == nullptr ? "/usr/bin:/bin" : path;
  setenv("PATH", ((shell / "bin").string() + ":" + rest).c_str(), 1);
  setenv("WEFT_LAB_SHELL", shell.c_str(), 1);
  setenv("CUDA_PATH", shell.c_str(), 1);
  setenv("CUDA_HOME", shell.c_str(), 1);
  if (!command.empty()) return run_program(command);
  const char* chosen = std::getenv("SHELL");
  std::vector<std::string> words = {chosen == nullptr || *chosen != '/' ? "/bin/sh" : chosen};
  if (fs::path(words.front()).filename() == "bash") {
    words.insert(words.end(), {"--rcfile", (shell / "bashrc").string(), "-i"});
  }
  tell("nvcc is the lab in this shell, until you leave it (exit)");
  return run_program(words);
}

bool is_lab_program(const fs::path& file) {
  if (!fs::is_regular_file(file)) return false;
  std::ostringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  const std::string text = std::move(bytes).str();
  return text.starts_with("\177ELF") && text.find("WEFT_LAB_RECORD") != std::string::npos;
}

}  // namespace weft::lab
