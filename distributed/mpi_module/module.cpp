// SPDX-License-Identifier: MIT
// The module weft_mpi: the calls of MPI that a transport needs.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "distributed/mpi_module/interface.h"

namespace {

int size_of_world = 1;

int start(int* rank, int* size) {
  // Calls come from one thread at a time, which is not always the same.
  int provided = 0;
  int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, size);
  if (code == MPI_SUCCESS && provided < MPI_THREAD_SERIALIZED) code = MPI_ERR_OTHER;
  size_of_world = *size;
  return code;
}

// MPI counts in int: longer messages go in parts.
constexpr std::size_t kPart = std::size_t{1} << 30;

struct Request {
  MPI_Request request;
  int rank;
};

int wait_for_all(std::vector<Request>& requests, double timeout, int* silent) {
  using Clock = std::chrono::steady_clock;
  const auto limit = std::chrono::duration<double>(timeout);
  auto last = Clock::now();
  int turns = 0;
  while (!requests.empty()) {
    for (std::size_t i = 0; i < requests.size();) {
      int done = 0;
      const int code = MPI_Test(&requests[i].request, &done, MPI_STATUS_IGNORE);
      if (code != MPI_SUCCESS) return code;
      if (done == 0) {
        ++i;
        continue;
      }
      requests[i] = requests.back();
      requests.pop_back();
      last = Clock::now();
      turns = 0;
    }
    if (requests.empty()) break;
    if (Clock::now() - last > limit) {
      *silent = requests.front().rank;
      return -1;
    }
    // Ranks may outnumber the cores.
    if (++turns < 1000) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  return MPI_SUCCESS;
}

int exchange(const void* const* out, const std::size_t* out_bytes, void* const* in,
             const std::size_t* in_bytes, double timeout, int* silent) {
  std::vector<Request> requests;
  for (int rank = 0; rank < size_of_world; ++rank) {
    for (std::size_t at = 0; at < in_bytes[rank]; at += kPart) {
      const int count = static_cast<int>(std::min(kPart, in_bytes[rank] - at));
      Request& added = requests.emplace_back(Request{MPI_REQUEST_NULL, rank});
      const int code = MPI_Irecv(static_cast<char*>(in[rank]) + at, count, MPI_BYTE, rank, 0,
                                 MPI_COMM_WORLD, &added.request);
      if (code != MPI_SUCCESS) return code;
    }
  }
  for (int rank = 0; rank < size_of_world; ++rank) {
    for (std::size_t at = 0; at < out_bytes[rank]; at += kPart) {
      const int count = static_cast<int>(std::min(kPart, out_bytes[rank] - at));
      Request& added = requests.emplace_back(Request{MPI_REQUEST_NULL, rank});
      const int code = MPI_Isend(static_cast<const char*>(out[rank]) + at, count, MPI_BYTE, rank, 0,
                                 MPI_COMM_WORLD, &added.request);
      if (code != MPI_SUCCESS) return code;
    }
  }
  return wait_for_all(requests, timeout, silent);
}

const char* text(int code) {
  static std::string text;
  text.assign(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  return text.c_str();
}

const char* library() {
  static std::string text;
  text.assign(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  text = text.substr(0, text.find_first_of(",\n"));
  return text.c_str();
}

}  // namespace

const WeftMpi* weft_mpi_module() {
  static const WeftMpi module{
      start,
      exchange,
      [] { return MPI_Finalize(); },
      [](int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); },
      text,
      library,
  };
  return &module;
}
