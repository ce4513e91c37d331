// SPDX-License-Identifier: MIT
#include "distributed/mpi.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <thread>

#include "distributed/mpi_module/interface.h"
#include "distributed/program.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::distributed {
namespace {

// Where the module lies: beside the program or library that holds this code, or where it is
// installed.
std::filesystem::path module_path() {
  const std::filesystem::path folder = program_folder();
  for (const std::filesystem::path& place : {folder, folder / WEFT_INSTALLED_LIBRARIES}) {
    const std::filesystem::path path = place / "libweft_mpi.so";
    if (std::filesystem::exists(path)) return path;
  }
  return {};
}

struct Module {
  const WeftMpi* calls = nullptr;
  std::string reason;  // why there are none
};

Module load() {
  const std::filesystem::path path = module_path();
  if (path.empty()) {
    return {nullptr, "built without MPI (Debian: libopenmpi-dev)"};
  }
  // MPI libraries load parts of themselves, which look for its symbols.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return {nullptr, str("MPI does not load: ", dlerror())};
  using Entry = const WeftMpi* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "weft_mpi_module"));
  if (entry == nullptr) return {nullptr, str(path.string(), " is not Weft's module for MPI")};
  return {entry(), {}};
}

const Module& module() {
  static const Module module = load();
  return module;
}

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(double timeout) : mpi_(*module().calls), timeout_(timeout) {
    check(mpi_.start(&rank_, &size_), "start MPI");
  }

  ~MpiTransport() override {
    if (failed_ || std::uncaught_exceptions() > 0) {
      mpi_.abort(static_cast<int>(ErrorKind::device));
    } else {
      mpi_.finish();
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string_view name() const override { return "mpi"; }

  void exchange(std::span<const std::span<const std::byte>> out,
                std::span<const std::span<std::byte>> in) override {
    const auto size = static_cast<std::size_t>(size_);
    std::vector<const void*> from(size);
    std::vector<void*> to(size);
    std::vector<std::size_t> out_bytes(size), in_bytes(size);
    for (std::size_t r = 0; r < size; ++r) {
      if (r == static_cast<std::size_t>(rank_)) continue;
      from[r] = out[r].data();
      to[r] = in[r].data();
      out_bytes[r] = out[r].size();
      in_bytes[r] = in[r].size();
    }
    int silent = 0;
    const int code =
        mpi_.exchange(from.data(), out_bytes.data(), to.data(), in_bytes.data(), timeout_, &silent);
    if (code == -1) {
      throw Error(ErrorKind::device, str("rank ", silent, " has been silent for ", timeout_, " s"));
    }
    check(code, "exchange data over MPI");
  }

  // MPI ends the other ranks. What fails on all of them is told by rank 0, which gets a second.
  void fail(const std::string& line) noexcept override {
    failed_ = true;
    if (rank_ != 0) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      std::fprintf(stderr, "weft: rank %d: %s\n", rank_, printable(line).c_str());
    }
    mpi_.abort(static_cast<int>(ErrorKind::device));
  }

 private:
  void check(int code, const char* what) const {
    if (code != 0) {
      throw Error(ErrorKind::device, str("could not ", what, ": ", mpi_.text(code)));
    }
  }

  const WeftMpi& mpi_;
  double timeout_;
  int rank_ = 0, size_ = 1;
  bool failed_ = false;
};

}  // namespace

bool started_by_mpi() {
  const auto is_several = [](const char* size) { return std::string_view(size) != "1"; };
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* const size = std::getenv(name)) return is_several(size);
  }
  const char* const tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  return std::getenv("PMIX_RANK") != nullptr && (tasks == nullptr || is_several(tasks));
}

std::string mpi_reason() {
  return module().reason;
}

std::string mpi_library() {
  return module().calls == nullptr ? std::string() : module().calls->library();
}

std::unique_ptr<Transport> mpi_transport(double timeout) {
  if (module().calls == nullptr) {
    throw Error(ErrorKind::usage, str("no run over MPI: ", module().reason,
                                      "; on one machine --devices N does without"));
  }
  return std::make_unique<MpiTransport>(timeout);
}

}  // namespace weft::distributed
