// SPDX-License-Identifier: MIT
// A preloaded library (LD_PRELOAD) that lets one system call of a program fail, or records them.
//
// Only files below WEFT_FAULTS_ROOT count, standard input and output where they are such files, and
// only calls after main() has begun. The loader, /proc and the program itself are left alone.
//
//   WEFT_FAULTS_CALL    open, read, write, fsync, rename, mkdir, mmap, close or alloc; more than
//                       one, with commas between them
//   WEFT_FAULTS_N       the number of the call that fails, from 1 on
//   WEFT_FAULTS_ERROR   the errno that it fails with, or "short": a read or write moves half
//   WEFT_FAULTS_STICKY  set: all later ones fail as well, as on a disk that stays full
//   WEFT_FAULTS_BYTES   allocations from this size on count; default 1 MiB
//   WEFT_FAULTS_FIRED   a file that gets a line for each call that failed
//   WEFT_FAULTS_RECORD  a file that gets a line for each call that changes what a disk holds
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

constexpr int kFiles = 4096;

char root[PATH_MAX], calls[256], record_to[PATH_MAX], fired_to[PATH_MAX];
long wanted = 0;
int error_number = 0;
bool is_short = false, is_sticky = false, has_begun = false;
std::size_t least_bytes = std::size_t{1} << 20;
std::atomic<long> count{0};
std::atomic<bool> counts[kFiles];  // by descriptor: is it a file below the root?

template <class Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define REAL(name) \
  static auto* const real_##name = real(static_cast<decltype(::name)*>(nullptr), #name)

void append_to(const char* file, const char* line, std::size_t length) {
  const int kept = errno;
  const auto to = static_cast<int>(
      syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (to >= 0) {
    (void)!syscall(SYS_write, to, line, length);
    syscall(SYS_close, to);
  }
  errno = kept;
}

bool is_listed(const char* call) {
  const std::size_t length = std::strlen(call);
  for (const char* at = calls; (at = std::strstr(at, call)) != nullptr; at += length) {
    const bool begins = at == calls || at[-1] == ',';
    if (begins && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return false;
}

// Does this call, which counts, fail? Then errno is set.
bool fails(const char* call, const char* what) {
  if (!has_begun || wanted == 0 || !is_listed(call)) return false;
  const long number = ++count;
  if (number != wanted && !(is_sticky && number > wanted)) return false;
  if (fired_to[0] != '\0') {
    char line[PATH_MAX + 64];
    const int length = std::snprintf(line, sizeof line, "%ld %s %s\n", number, call, what);
    append_to(fired_to, line, static_cast<std::size_t>(length));
  }
  errno = error_number;
  return true;
}

// An absolute path without . and .., so that it can be compared with the root.
void absolute(int folder, const char* path, char (&out)[PATH_MAX]) {
  char begin[PATH_MAX] = "";
  if (path[0] != '/') {
    char link[64];
    std::snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d",
                  folder);
    const ssize_t length = readlink(link, begin, sizeof begin - 1);
    begin[length > 0 ? length : 0] = '\0';
  }
  std::size_t used = std::strlen(begin);
  std::memcpy(out, begin, used + 1);
  while (*path != '\0') {
    const std::size_t length = std::strcspn(path, "/");
    if (length == 2 && path[0] == '.' && path[1] == '.') {
      while (used > 0 && out[used] != '/') --used;
    } else if (length > 0 && !(length == 1 && path[0] == '.') && used + length + 2 < PATH_MAX) {
      out[used++] = '/';
      std::memcpy(out + used, path, length);
      used += length;
    }
    out[used] = '\0';
    path += length;
    path += *path == '/' ? 1 : 0;
  }
}

bool is_below_root(const char* path) {
  const std::size_t length = std::strlen(root);
  return length > 0 && std::strncmp(path, root, length) == 0 &&
         (path[length] == '/' || path[length] == '\0');
}

bool is_counted(int file) {
  return file >= 0 && file < kFiles && counts[file];
}

void name_of(int file, char (&out)[PATH_MAX]) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, out, sizeof out - 1);
  out[length > 0 ? length : 0] = '\0';
}

// {"call": ..., "pid": ..., "file": the descriptor, "path": ..., "to": ..., "number": ...,
// "data": in hexadecimal digits}. Paths of the tests need no escapes.
void record(const char* call, int file, const char* path = "", const char* to = "", long number = 0,
            const void* data = nullptr, std::size_t bytes = 0) {
  if (record_to[0] == '\0' || !has_begun) return;
  const std::size_t room = 2 * bytes + 2 * PATH_MAX + 256;
  auto* line = static_cast<char*>(__libc_malloc(room));
  auto length = static_cast<std::size_t>(std::snprintf(
      line, room, R"({"call":"%s","pid":%d,"file":%d,"path":"%s","to":"%s","number":%ld,"data":")",
      call, getpid(), file, path, to, number));
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto byte = static_cast<const unsigned char*>(data)[i];
    line[length++] = "0123456789abcdef"[byte / 16];
    line[length++] = "0123456789abcdef"[byte % 16];
  }
  std::memcpy(line + length, "\"}\n", 3);
  append_to(record_to, line, length + 3);
  std::free(line);
}

void begin() {
  const auto copy = [](const char* name, char* to, std::size_t room) {
    const char* value = std::getenv(name);
    std::snprintf(to, room, "%s", value == nullptr ? "" : value);
  };
  copy("WEFT_FAULTS_ROOT", root, sizeof root);
  copy("WEFT_FAULTS_CALL", calls, sizeof calls);
  copy("WEFT_FAULTS_RECORD", record_to, sizeof record_to);
  copy("WEFT_FAULTS_FIRED", fired_to, sizeof fired_to);
  char text[64];
  copy("WEFT_FAULTS_N", text, sizeof text);
  wanted = std::atol(text);
  copy("WEFT_FAULTS_BYTES", text, sizeof text);
  if (text[0] != '\0') least_bytes = std::strtoull(text, nullptr, 10);
  copy("WEFT_FAULTS_ERROR", text, sizeof text);
  is_short = std::strcmp(text, "short") == 0;
  error_number = std::atoi(text);
  is_sticky = std::getenv("WEFT_FAULTS_STICKY") != nullptr;
  for (int file = 0; file < 2; ++file) {
    char path[PATH_MAX];
    name_of(file, path);
    counts[file] = is_below_root(path);
  }
  has_begun = true;
}

// A file that was opened: does it count, and is it new?
int opened(int file, const char* path, int flags) {
  if (file < 0 || file >= kFiles) return file;
  counts[file] = is_below_root(path);
  if (counts[file] && (flags & (O_CREAT | O_TRUNC | O_DIRECTORY)) != 0) {
    record((flags & O_DIRECTORY) != 0 ? "opendir" : "create", file, path, "", flags & O_TRUNC);
  }
  return file;
}

template <class Call>
int open_with(int folder, const char* name, int flags, Call call) {
  char path[PATH_MAX];
  absolute(folder, name, path);
  const bool is_folder = (flags & O_DIRECTORY) != 0;  // which no signal interrupts
  if (is_below_root(path) && !(is_folder && error_number == EINTR) && fails("open", path)) {
    return -1;
  }
  return opened(call(), path, flags);
}

int flags_of(const char* mode) {
  return mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT : 0;
}

// The bytes that a call may move; -1 for none, with errno.
ssize_t allowed(const char* call, int file, std::size_t bytes) {
  if (!is_counted(file)) return static_cast<ssize_t>(bytes);
  char path[PATH_MAX];
  name_of(file, path);
  if (!fails(call, path)) return static_cast<ssize_t>(bytes);
  if (!is_short) return -1;
  return static_cast<ssize_t>(bytes > 1 ? bytes / 2 : bytes);
}

ssize_t wrote(int file, ssize_t bytes, const void* data, long offset = -1) {
  if (bytes > 0 && is_counted(file)) {
    record("write", file, "", "", offset, data, static_cast<std::size_t>(bytes));
  }
  return bytes;
}

bool alloc_fails(std::size_t bytes) {
  if (bytes < least_bytes || !has_begun || wanted == 0) return false;
  char text[32];
  std::snprintf(text, sizeof text, "%zu bytes", bytes);
  return fails("alloc", text);
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
  if (error_number != EINTR && is_below_root(path) && fails("open", path)) return nullptr;
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
  counts[file] = false;
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
  counts[file] = false;
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
