# The files of rungs and the comment on top of each as a table for `weft kernel show`:
#   cmake -DROOT=... -DOUT=FILE.inc -P rung_headers.cmake
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/kernels/*.cu)
set(table "// From the comments on top of the files in the folders rungs/ of kernels/.\n")
foreach(file ${files})
  string(FIND ${file} "/rungs/" at)
  if(at EQUAL -1)
    continue()
  endif()
  if(EXISTS ${ROOT}/${file}h)  # the kernel is there, and the .cu file its launcher
    set(file ${file}h)
  endif()
  file(READ ${ROOT}/${file} text)
  string(REGEX MATCH "^// SPDX[^\n]*\n((//[^\n]*\n)*)" head "${text}")
  string(REGEX REPLACE "(^|\n)// ?" "\\1" comment "${CMAKE_MATCH_1}")
  string(APPEND table "{\"${file}\", R\"rung(${comment})rung\"},\n")
endforeach()
file(WRITE ${OUT} "${table}")
