# What makes a mistake in the program harder to use against it (SECURITY.md): checked copies, a
# canary in each frame with an array, no frame that steps over the guard page, marks where an indirect
# jump may land, addresses chosen at the start, and tables of functions that are read-only afterwards.
# Every target is compiled so, but the kernels on host-cuda, whose frames are checked in another way.
set(WEFT_HARDENED OFF)
if(NOT WEFT_HARDEN OR WEFT_SANITIZE OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  return()
endif()
include(CheckPIESupported)
check_pie_supported()  # links with -pie what was compiled for it
include(CheckCXXCompilerFlag)
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
set(hardening -fstack-protector-strong)
foreach(flag -fstack-clash-protection -fcf-protection)  # the second is of x86 alone
  string(MAKE_C_IDENTIFIER "WEFT_HAS${flag}" has)
  check_cxx_compiler_flag(${flag} ${has})
  if(${has})
    list(APPEND hardening ${flag})
  endif()
endforeach()
# A compiler that sets a level itself, as Ubuntu's does, would warn of another one.
set(fortify -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${WEFT_FORTIFY_LEVEL})
set(optimised $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${hardening}>"
                    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,${optimised}>:${fortify}>")
list(JOIN hardening "," hardening)
list(JOIN fortify "," fortify)
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${hardening}>"
                    "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,${optimised}>:-Xcompiler=${fortify}>")
set(WEFT_HARDENED ON)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
