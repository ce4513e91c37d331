// SPDX-License-Identifier: MIT
#include "data/files/host_array.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "data/files/host_memory.h"
#include "data/files/scratch_file.h"
#include "engine/error.h"

namespace weft::data {

HostBlock::~HostBlock() {
  if (file_ < 0) {
    std::free(data_);
  } else {
    if (data_ != nullptr) munmap(data_, bytes_);
    ::close(file_);
  }
}

void HostBlock::grow(std::size_t bytes, std::size_t kept) {
  if (!in_file() && bytes <= host_data_limit(bytes)) {
    void* grown = std::realloc(data_, bytes);
    if (grown == nullptr) throw std::bad_alloc();
    data_ = grown;
    bytes_ = bytes;
    return;
  }
  HostBlock mapped;
  HostBlock& file = in_file() ? *this : mapped;
  if (!in_file()) file.file_ = open_scratch_file().release();
  take_room(file.file_, bytes);
  void* data = file.data_ == nullptr
                   ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.file_, 0)
                   : mremap(file.data_, file.bytes_, bytes, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) {
    throw Error(ErrorKind::data, str("could not map ", bytes >> 20,
                                     " MiB of data that do not fit into memory: the address space "
                                     "of this process is limited (ulimit -v)"));
  }
  file.data_ = data;
  file.bytes_ = bytes;
  if (in_file()) return;
  if (kept > 0) std::memcpy(data, data_, kept);
  swap(mapped);
}

void HostBlock::is_read_at_random() const {
  if (in_file()) madvise(data_, bytes_, MADV_RANDOM);
}

void HostBlock::is_read_soon(std::size_t offset, std::size_t bytes) const {
  if (!in_file() || bytes == 0) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t begin = offset / page * page;
  madvise(static_cast<std::byte*>(data_) + begin, offset + bytes - begin, MADV_WILLNEED);
}

}  // namespace weft::data
