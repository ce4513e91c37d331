// SPDX-License-Identifier: MIT
// Decides for faults.cpp what system call of a program fails, and what is kept of the others.
//
// Only files below WEFT_FAULTS_ROOT count, standard input and output where they are such files, and
// only calls after main() has begun. The loader, /proc and the program itself are left alone.
//
//   WEFT_FAULTS_CALL    open, read, write, fsync, rename, mkdir, mmap, close or alloc; more than
//                       one, with commas between them
//   WEFT_FAULTS_N       the number of the call that fails, from 1 on; -1: none fails, all are told
//   WEFT_FAULTS_ERROR   the errno that it fails with, or "short": a read or write moves half
//   WEFT_FAULTS_STICKY  set: all later ones fail as well, as on a disk that stays full
//   WEFT_FAULTS_BYTES   allocations from this size on count; default 1 MiB
//   WEFT_FAULTS_FIRED   a file that gets a line for each call that failed
//   WEFT_FAULTS_RECORD  a file that gets a line for each call that changes what a disk holds
#pragma once

#include <sys/types.h>

#include <climits>
#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t);
}

namespace weft::faults {

// Reads the settings: main() begins. Before, nothing fails and nothing is kept.
void begin();

// An absolute path without . and .., so that it can be compared with the root.
void absolute(int folder, const char* path, char (&out)[PATH_MAX]);
bool is_below_root(const char* path);
bool is_counted(int file);  // is it a file below the root?
// A file that was opened: does it count, and is it new? Returns it.
int opened(int file, const char* path, int flags);
void closed(int file);

// Does this call, which counts, fail? Then errno is set.
bool fails(const char* call, const char* what);
bool is_interruption();  // is EINTR what calls fail with?
// The bytes that a call may move; -1 for none, with errno.
ssize_t allowed(const char* call, int file, std::size_t bytes);
bool alloc_fails(std::size_t bytes);

// {"call": ..., "pid": ..., "file": the descriptor, "path": ..., "to": ..., "number": ...,
// "data": in hexadecimal digits}. Paths of the tests need no escapes.
void record(const char* call, int file, const char* path = "", const char* to = "", long number = 0,
            const void* data = nullptr, std::size_t bytes = 0);

}  // namespace weft::faults
