// SPDX-License-Identifier: MIT
// Sums and gathers by NCCL, which is loaded when it is first asked for.
#include "distributed/communicator.h"
#include "distributed/reducer.h"
#include "engine/device.h"
#include "engine/error.h"

#ifdef WEFT_WITH_NCCL
#include <dlfcn.h>
#include <nccl.h>

#include <cstdlib>
#include <cstring>

#include "engine/cuda/cuda_check.h"
#endif

namespace weft::distributed {

#ifdef WEFT_WITH_NCCL

namespace {

struct Library {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) init_rank = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  std::string reason;  // why it is not there
};

Library load() {
  Library library;
  void* handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    library.reason = "libnccl.so.2 is not found (Debian and Ubuntu: libnccl2)";
    return library;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr) library.reason = str("this NCCL has no ", name);
  };
  find(library.get_version, "ncclGetVersion");
  find(library.error_string, "ncclGetErrorString");
  find(library.get_unique_id, "ncclGetUniqueId");
  find(library.init_rank, "ncclCommInitRank");
  find(library.destroy, "ncclCommDestroy");
  find(library.abort, "ncclCommAbort");
  find(library.all_reduce, "ncclAllReduce");
  find(library.broadcast, "ncclBroadcast");
  find(library.group_start, "ncclGroupStart");
  find(library.group_end, "ncclGroupEnd");
  return library;
}

const Library& library() {
  static const Library library = load();
  return library;
}

void check(ncclResult_t code, const char* what) {
  if (code == ncclSuccess) return;
  throw Error(ErrorKind::device, str("NCCL could not ", what, ": ", library().error_string(code)));
}

class NcclReducer final : public Reducer {
 public:
  NcclReducer(Communicator& ranks, const Stream& stream)
      : rank_(ranks.rank()), size_(ranks.size()) {
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    cuda_check(cudaSetDevice(stream.device().index), "select the GPU");
    ncclUniqueId id{};
    if (rank_ == 0) check(library().get_unique_id(&id), "name the run");
    Bytes bytes(sizeof id);
    std::memcpy(bytes.data(), &id, sizeof id);
    ranks.broadcast(bytes, sizeof id);
    std::memcpy(&id, bytes.data(), sizeof id);
    check(library().init_rank(&communicator_, size_, id, rank_), "start");
  }
  // A rank that failed may have left the others in the middle of a call.
  ~NcclReducer() override {
    if (std::uncaught_exceptions() > 0) {
      library().abort(communicator_);
    } else {
      library().destroy(communicator_);
    }
  }

  void all_reduce(float* values, std::int64_t n, const Stream& stream) override {
    check(library().all_reduce(values, values, static_cast<std::size_t>(n), ncclFloat, ncclSum,
                               communicator_, stream.native()),
          "add up");
  }

  void all_gather(float* values, std::int64_t count, std::int64_t unit,
                  const Stream& stream) override {
    check(library().group_start(), "begin a group");
    for (int rank = 0; rank < size_; ++rank) {
      const Share share = share_of(count / unit, rank, size_);
      float* part = values + share.first * unit;
      check(library().broadcast(part, part, static_cast<std::size_t>(share.count * unit), ncclFloat,
                                rank, communicator_, stream.native()),
            "gather");
    }
    check(library().group_end(), "gather");
  }

  std::string name() const override { return "NCCL " + nccl_version(); }

 private:
  int rank_, size_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace

std::string nccl_reason() {
  return library().reason;
}

std::string nccl_version() {
  int version = 0;
  if (!library().reason.empty() || library().get_version(&version) != ncclSuccess) return {};
  return str(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::unique_ptr<Reducer> nccl_reducer(Communicator& ranks, const Stream& stream) {
  return std::make_unique<NcclReducer>(ranks, stream);
}

#else

std::string nccl_reason() {
  if (!built_with_cuda()) return "built without CUDA";
  return "built without NCCL (Debian and Ubuntu: libnccl-dev)";
}
std::string nccl_version() {
  return {};
}
std::unique_ptr<Reducer> nccl_reducer(Communicator&, const Stream&) {
  throw Error(ErrorKind::device, nccl_reason());
}

#endif

}  // namespace weft::distributed
