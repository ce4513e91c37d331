// SPDX-License-Identifier: MIT
// The functions of NVIDIA's samples that read the command line and look for files.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <string>

#include "host_cuda/language/macros_hidden.inc"

#define STRCASECMP strcasecmp
#define STRNCASECMP strncasecmp
#define STRCPY(to, bytes, from) strcpy(to, from)
#define FOPEN(file, name, mode) (file = fopen(name, mode))
#define FOPEN_FAIL(result) (result == NULL)
#define SSCANF sscanf
#define SPRINTF sprintf
#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif

inline int stringRemoveDelimiter(char delimiter, const char* text) {
  int start = 0;
  while (text[start] == delimiter && text[start] != '\0') ++start;
  return start;
}

// Where the ending of a name begins, behind the last point; 0 and a null pointer without one.
inline int getFileExtension(char* name, char** ending) {
  char* const point = strrchr(name, '.');
  *ending = point == nullptr ? nullptr : point + 1;
  return point == nullptr ? 0 : static_cast<int>(point + 1 - name);
}

namespace weft::host_cuda::lab {
// What stands behind `name` and an optional `=` in a flag "--name=value"; null without the flag.
inline const char* flag(int count, const char** words, const char* name) {
  const std::size_t length = strlen(name);
  for (int i = 1; i < count; ++i) {
    const char* const word = words[i] + stringRemoveDelimiter('-', words[i]);
    if (word == words[i] || strncasecmp(word, name, length) != 0) continue;
    if (word[length] == '=') return word + length + 1;
    if (word[length] == '\0') return word + length;
  }
  return nullptr;
}
}  // namespace weft::host_cuda::lab

inline bool checkCmdLineFlag(int count, const char** words, const char* name) {
  return weft::host_cuda::lab::flag(count, words, name) != nullptr;
}
// `value` stays as it is where the flag has none.
template <class T>
bool getCmdLineArgumentValue(int count, const char** words, const char* name, T* value) {
  const char* const found = weft::host_cuda::lab::flag(count, words, name);
  if (found != nullptr && *found != '\0') *value = static_cast<T>(atoi(found));
  return found != nullptr;
}
inline int getCmdLineArgumentInt(int count, const char** words, const char* name) {
  const char* const value = weft::host_cuda::lab::flag(count, words, name);
  return value == nullptr ? 0 : atoi(value);
}
inline float getCmdLineArgumentFloat(int count, const char** words, const char* name) {
  const char* const value = weft::host_cuda::lab::flag(count, words, name);
  return value == nullptr ? 0 : static_cast<float>(atof(value));
}
inline bool getCmdLineArgumentString(int count, const char** words, const char* name, char** to) {
  const char* const value = weft::host_cuda::lab::flag(count, words, name);
  *to = const_cast<char*>(value);
  return value != nullptr;
}

// The path of a file of a sample, in memory of malloc; null where it is in none of the places.
inline char* sdkFindFilePath(const char* name, const char*) {
  for (const char* const place : {"./", "./data/", "../", "../data/", "../../data/"}) {
    const std::string path = std::string(place) + name;
    if (FILE* const file = fopen(path.c_str(), "rb")) {
      fclose(file);
      return strdup(path.c_str());
    }
  }
  return nullptr;
}

#include "host_cuda/language/macros_shown.inc"
