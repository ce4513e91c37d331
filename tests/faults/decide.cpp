// SPDX-License-Identifier: MIT
#include "tests/faults/decide.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::faults {
namespace {

constexpr int kFiles = 4096;

char root[PATH_MAX], calls[256], record_to[PATH_MAX], fired_to[PATH_MAX];
long wanted = 0;
int error_number = 0;
bool is_short = false, is_sticky = false, has_begun = false;
std::size_t least_bytes = std::size_t{1} << 20;
std::atomic<long> count{0};
std::atomic<bool> counts[kFiles];  // by descriptor: is it a file below the root?

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

void name_of(int file, char (&out)[PATH_MAX]) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, out, sizeof out - 1);
  out[length > 0 ? length : 0] = '\0';
}

}  // namespace

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

void closed(int file) {
  counts[file] = false;
}

bool fails(const char* call, const char* what) {
  if (!has_begun || wanted == 0 || !is_listed(call)) return false;
  const long number = ++count;
  const bool counts_only = wanted < 0;
  if (!counts_only && number != wanted && !(is_sticky && number > wanted)) return false;
  if (fired_to[0] != '\0') {
    char line[PATH_MAX + 64];
    const int length = std::snprintf(line, sizeof line, "%ld %s %s\n", number, call, what);
    append_to(fired_to, line, static_cast<std::size_t>(length));
  }
  if (counts_only) return false;
  errno = error_number;
  return true;
}

bool is_interruption() {
  return error_number == EINTR;
}

void record(const char* call, int file, const char* path, const char* to, long number,
            const void* data, std::size_t bytes) {
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

int opened(int file, const char* path, int flags) {
  if (file < 0 || file >= kFiles) return file;
  counts[file] = is_below_root(path);
  if (counts[file] && (flags & (O_CREAT | O_TRUNC | O_DIRECTORY)) != 0) {
    record((flags & O_DIRECTORY) != 0 ? "opendir" : "create", file, path, "", flags & O_TRUNC);
  }
  return file;
}

ssize_t allowed(const char* call, int file, std::size_t bytes) {
  if (!is_counted(file)) return static_cast<ssize_t>(bytes);
  char path[PATH_MAX];
  name_of(file, path);
  if (!fails(call, path)) return static_cast<ssize_t>(bytes);
  if (!is_short) return -1;
  return static_cast<ssize_t>(bytes > 1 ? bytes / 2 : bytes);
}

bool alloc_fails(std::size_t bytes) {
  if (bytes < least_bytes || !has_begun || wanted == 0) return false;
  char text[32];
  std::snprintf(text, sizeof text, "%zu bytes", bytes);
  return fails("alloc", text);
}

}  // namespace weft::faults
