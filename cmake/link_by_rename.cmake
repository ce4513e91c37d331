# A program is linked under another name and then renamed, so that whoever starts it meanwhile gets the
# old one or the new one, and never a file that cannot be run.
foreach(language CXX CUDA)
  string(REPLACE "<TARGET>" "<TARGET>.new" rule "${CMAKE_${language}_LINK_EXECUTABLE}")
  if(rule)
    set(CMAKE_${language}_LINK_EXECUTABLE "${rule}"
        "${CMAKE_COMMAND} -E rename <TARGET>.new <TARGET>")
  endif()
endforeach()
