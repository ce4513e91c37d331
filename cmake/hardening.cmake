# What makes a mistake in the program harder to use against it (SECURITY.md): checked copies, a
# canary in each frame with an array, addresses chosen at the start, and tables of functions that
# are read-only afterwards. data, distributed, models and the program are compiled so, since they
# read files and talk to other machines. The kernels get sizes that those have checked.
set(WEFT_HARDENING_COMPILE)
if(NOT WEFT_HARDEN OR WEFT_SANITIZE OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  return()
endif()
include(CheckPIESupported)
check_pie_supported()  # links with -pie what was compiled for it
include(CheckCXXSourceCompiles)
# Level 3 asks __builtin_dynamic_object_size(), which older compilers and C libraries do not know:
# there the headers warn, or fall back without a word to what level 2 does.
set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
check_cxx_source_compiles("
  #include <cstring>
  #if !defined(__USE_FORTIFY_LEVEL) || __USE_FORTIFY_LEVEL < 3
  #error the C library stops at a lower level
  #endif
  int main(int argc, char** argv) { return static_cast<int>(std::strlen(argv[argc - 1])); }"
  WEFT_FORTIFIES_3)
unset(CMAKE_REQUIRED_FLAGS)
set(WEFT_FORTIFY_LEVEL 2)
if(WEFT_FORTIFIES_3)
  set(WEFT_FORTIFY_LEVEL 3)
endif()
# A compiler that sets a level itself, as Ubuntu's does, would warn of another one.
set(optimised $<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>)
set(WEFT_HARDENING_COMPILE
  $<${optimised}:-U_FORTIFY_SOURCE> $<${optimised}:-D_FORTIFY_SOURCE=${WEFT_FORTIFY_LEVEL}>
  $<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
