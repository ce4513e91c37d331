# The comment on top of each rung's file as a table for `weft kernel show`:
#   cmake -DROOT=... -DOUT=FILE.inc -P rung_headers.cmake
file(GLOB files RELATIVE ${ROOT} ${ROOT}/kernels/*/rungs/*.cu ${ROOT}/kernels/*/rungs/*/*.cu)
set(table "// From the comments on top of kernels/*/rungs.\n")
foreach(file ${files})
  string(REGEX REPLACE "^kernels/([^/]*)/rungs/(.*/)?([^/]*)\\.cu$" "\\1/\\3" rung ${file})
  if(EXISTS ${ROOT}/${file}h)  # the kernel is there, and the .cu file its launcher
    set(file ${file}h)
  endif()
  file(READ ${ROOT}/${file} text)
  string(REGEX MATCH "^// SPDX[^\n]*\n((//[^\n]*\n)*)" head "${text}")
  string(REGEX REPLACE "(^|\n)// ?" "\\1" comment "${CMAKE_MATCH_1}")
  string(APPEND table "{\"${rung}\", \"${file}\", R\"rung(${comment})rung\"},\n")
endforeach()
file(WRITE ${OUT} "${table}")
