# Fails when a source is not formatted as .clang-format says. tests/lab has programs as students
# write them.
foreach(folder engine host_cuda lab kernels layers distributed data models examples measure bench python tests)
  foreach(ending h cpp cu cuh)
    file(GLOB_RECURSE some ${ROOT}/${folder}/*.${ending})
    list(APPEND sources ${some})
  endforeach()
endforeach()
list(FILTER sources EXCLUDE REGEX "^${ROOT}/tests/lab/")
execute_process(COMMAND ${CLANG_FORMAT} --dry-run --Werror ${sources} RESULT_VARIABLE code
                ERROR_VARIABLE text)
if(NOT code EQUAL 0)
  string(REGEX MATCHALL "[^\n]*error:[^\n]*" lines "${text}")
  list(SUBLIST lines 0 10 lines)
  message(FATAL_ERROR "run clang-format -i on: ${lines}")
endif()
