// SPDX-License-Identifier: MIT
// A preloaded library (LD_PRELOAD) that lets one system call of a program fail, or records them:
// decide.h tells its settings. Here are the calls.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "tests/faults/decide.h"

extern "C" {
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
int __openat_2(int, const char*, int);
int __openat64_2(int, const char*, int);
}

namespace {

using namespace weft::faults;

template <class Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define REAL(name) \
  static auto* const real_##name = real(static_cast<decltype(::name)*>(nullptr), #name)

template <class Call>
int open_with(int folder, const char* name, int flags, Call call) {
  char path[PATH_MAX];
  absolute(folder, name, path);
  const bool is_folder = (flags & O_DIRECTORY) != 0;  // which no signal interrupts
  if (is_below_root(path) && !(is_folder && is_interruption()) && fails("open", path)) {
    return -1;
  }
  return opened(call(), path, flags);
}

int flags_of(const char* mode) {
  return mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT : 0;
}

ssize_t wrote(int file, ssize_t bytes, const void* data, long offset = -1) {
  if (bytes > 0 && is_counted(file)) {
    record("write", file, "", "", offset, data, static_cast<std::size_t>(bytes));
  }
  return bytes;
}

int (*real_main)(int, char**, char**);

int main_after_begin(int argc, char** argv, char** environment) {
  begin();
  return real_main(argc, argv, environment);
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(),
                      void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  real_main = main;
  using Start =
      int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  return reinterpret_cast<Start*>(dlsym(RTLD_NEXT, "__libc_start_main"))(
      main_after_begin, argc, argv, init, fini, rtld_fini, stack_end);
}

#define OPEN(name)                                                                           \
  int name(const char* path, int flags, ...) {                                               \
    REAL(name);                                                                              \
    va_list list;                                                                            \
    va_start(list, flags);                                                                   \
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;                   \
    va_end(list);                                                                            \
    return open_with(AT_FDCWD, path, flags, [&] { return real_##name(path, flags, mode); }); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
  int name(int folder, const char* path, int flags, ...) {                                         \
    REAL(name);                                                                                    \
    va_list list;                                                                                  \
    va_start(list, flags);                                                                         \
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;                         \
    va_end(list);                                                                                  \
    return open_with(folder, path, flags, [&] { return real_##name(folder, path, flags, mode); }); \
  }
OPENAT(openat)
OPENAT(openat64)

// What _FORTIFY_SOURCE makes of a call whose flags are a variable.
#define OPENAT_2(name)                                                                       \
  int name(int folder, const char* path, int flags) {                                        \
    REAL(name);                                                                              \
    return open_with(folder, path, flags, [&] { return real_##name(folder, path, flags); }); \
  }
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

#define FOPEN(name)                                                      \
  FILE* name(const char* file, const char* mode) {                       \
    REAL(name);                                                          \
    char path[PATH_MAX];                                                 \
    absolute(AT_FDCWD, file, path);                                      \
    if (is_below_root(path) && fails("open", path)) return nullptr;      \
    FILE* stream = real_##name(file, mode);                              \
    if (stream != nullptr) opened(fileno(stream), path, flags_of(mode)); \
    return stream;                                                       \
  }
FOPEN(fopen)
FOPEN(fopen64)

DIR* opendir(const char* folder) {  // which no signal interrupts
  REAL(opendir);
  char path[PATH_MAX];
  absolute(AT_FDCWD, folder, path);
  if (!is_interruption() && is_below_root(path) && fails("open", path)) return nullptr;
  return real_opendir(folder);
}

ssize_t read(int file, void* data, std::size_t bytes) {
  REAL(read);
  const ssize_t most = allowed("read", file, bytes);
  return most < 0 ? -1 : real_read(file, data, static_cast<std::size_t>(most));
}

ssize_t readv(int file, const iovec* parts, int number) {
  REAL(readv);
  return allowed("read", file, 0) < 0 ? -1 : real_readv(file, parts, number);
}

#define PREAD(name, Offset)                                                                 \
  ssize_t name(int file, void* data, std::size_t bytes, Offset offset) {                    \
    REAL(name);                                                                             \
    const ssize_t most = allowed("read", file, bytes);                                      \
    return most < 0 ? -1 : real_##name(file, data, static_cast<std::size_t>(most), offset); \
  }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

ssize_t write(int file, const void* data, std::size_t bytes) {
  REAL(write);
  const ssize_t most = allowed("write", file, bytes);
  if (most < 0) return -1;
  return wrote(file, real_write(file, data, static_cast<std::size_t>(most)), data);
}

ssize_t writev(int file, const iovec* parts, int number) {
  if (!is_counted(file)) {
    REAL(writev);
    return real_writev(file, parts, number);
  }
  ssize_t all = 0;  // part by part: each may be recorded and may fail
  for (int i = 0; i < number; ++i) {
    if (parts[i].iov_len == 0) continue;
    const ssize_t part = write(file, parts[i].iov_base, parts[i].iov_len);
    if (part < 0) return all > 0 ? all : -1;
    all += part;
    if (static_cast<std::size_t>(part) < parts[i].iov_len) break;
  }
  return all;
}

#define PWRITE(name, Offset)                                                                  \
  ssize_t name(int file, const void* data, std::size_t bytes, Offset offset) {                \
    REAL(name);                                                                               \
    const ssize_t most = allowed("write", file, bytes);                                       \
    if (most < 0) return -1;                                                                  \
    return wrote(file, real_##name(file, data, static_cast<std::size_t>(most), offset), data, \
                 offset);                                                                     \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define FSYNC(name)                                           \
  int name(int file) {                                        \
    REAL(name);                                               \
    if (allowed("fsync", file, 0) < 0) return -1;             \
    const int code = real_##name(file);                       \
    if (code == 0 && is_counted(file)) record("fsync", file); \
    return code;                                              \
  }
FSYNC(fsync)
FSYNC(fdatasync)

int close(int file) {
  REAL(close);
  if (!is_counted(file)) return real_close(file);
  const bool failed = allowed("close", file, 0) < 0;
  const int number = errno;
  closed(file);
  record("close", file);
  const int code = real_close(file);  // Linux closes the file, whatever close() answers
  if (failed) errno = number;
  return failed ? -1 : code;
}

int fclose(FILE* stream) {
  REAL(fclose);
  const int file = fileno(stream);
  if (!is_counted(file)) return real_fclose(stream);
  const bool failed = allowed("close", file, 0) < 0;
  const int number = errno;
  closed(file);
  record("close", file);
  const int code = real_fclose(stream);
  if (failed) errno = number;
  return failed ? EOF : code;
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  REAL(renameat);
  char old_path[PATH_MAX], new_path[PATH_MAX];
  absolute(from_folder, from, old_path);
  absolute(to_folder, to, new_path);
  const bool is_mine = is_below_root(new_path);
  if (is_mine && fails("rename", new_path)) return -1;
  const int code = real_renameat(from_folder, from, to_folder, to);
  if (code == 0 && is_mine) record("rename", -1, old_path, new_path);
  return code;
}

int rename(const char* from, const char* to) {
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int mkdirat(int folder, const char* name, mode_t mode) {
  REAL(mkdirat);
  char path[PATH_MAX];
  absolute(folder, name, path);
  if (is_below_root(path) && fails("mkdir", path)) return -1;
  const int code = real_mkdirat(folder, name, mode);
  if (code == 0 && is_below_root(path)) record("mkdir", -1, path);
  return code;
}

int mkdir(const char* path, mode_t mode) {
  return mkdirat(AT_FDCWD, path, mode);
}

int unlinkat(int folder, const char* name, int flags) {
  REAL(unlinkat);
  const int code = real_unlinkat(folder, name, flags);
  char path[PATH_MAX];
  absolute(folder, name, path);
  if (code == 0 && is_below_root(path)) {
    record((flags & AT_REMOVEDIR) != 0 ? "rmdir" : "unlink", -1, path);
  }
  return code;
}

int unlink(const char* path) {
  return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char* path) {
  return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int remove(const char* path) {
  const int code = unlink(path);
  return code != 0 && errno == EISDIR ? rmdir(path) : code;
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  REAL(linkat);
  const int code = real_linkat(from_folder, from, to_folder, to, flags);
  char old_path[PATH_MAX], new_path[PATH_MAX];
  absolute(from_folder, from, old_path);
  absolute(to_folder, to, new_path);
  if (code == 0 && is_below_root(new_path)) record("link", -1, old_path, new_path);
  return code;
}

int link(const char* from, const char* to) {
  return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int ftruncate(int file, off_t size) {
  REAL(ftruncate);
  const int code = real_ftruncate(file, size);
  if (code == 0 && is_counted(file)) record("truncate", file, "", "", size);
  return code;
}

#define MMAP(name, Offset)                                                                  \
  void* name(void* at, std::size_t bytes, int access, int flags, int file, Offset offset) { \
    REAL(name);                                                                             \
    if (is_counted(file) && allowed("mmap", file, bytes) < 0) return MAP_FAILED;            \
    return real_##name(at, bytes, access, flags, file, offset);                             \
  }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

void* malloc(std::size_t bytes) {
  return alloc_fails(bytes) ? nullptr : __libc_malloc(bytes);
}

void* calloc(std::size_t number, std::size_t size) {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(number, size, &bytes) && alloc_fails(bytes)) return nullptr;
  return __libc_calloc(number, size);
}

void* realloc(void* data, std::size_t bytes) {
  return alloc_fails(bytes) ? nullptr : __libc_realloc(data, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  return alloc_fails(bytes) ? nullptr : __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return memalign(alignment, bytes);
}

int posix_memalign(void** data, std::size_t alignment, std::size_t bytes) {
  void* made = memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *data = made;
  return 0;
}

}  // extern "C"
