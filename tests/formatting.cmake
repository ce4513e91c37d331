# Fails when a source is not formatted as .clang-format says.
file(GLOB_RECURSE sources ${ROOT}/engine/*.h ${ROOT}/engine/*.cpp ${ROOT}/kernels/*.h
     ${ROOT}/kernels/*.cpp ${ROOT}/distributed/*.h ${ROOT}/distributed/*.cpp ${ROOT}/layers/*.h
     ${ROOT}/layers/*.cpp ${ROOT}/data/*.h ${ROOT}/data/*.cpp ${ROOT}/models/*.h
     ${ROOT}/models/*.cpp ${ROOT}/examples/*.h ${ROOT}/examples/*.cpp ${ROOT}/host_cuda/*.h ${ROOT}/host_cuda/*.cpp ${ROOT}/measure/*.h
     ${ROOT}/measure/*.cpp ${ROOT}/python/*.h ${ROOT}/python/*.cpp ${ROOT}/tests/*.h
     ${ROOT}/tests/*.cpp)
execute_process(COMMAND ${CLANG_FORMAT} --dry-run --Werror ${sources} RESULT_VARIABLE code
                ERROR_VARIABLE text)
if(NOT code EQUAL 0)
  string(REGEX MATCHALL "[^\n]*error:[^\n]*" lines "${text}")
  list(SUBLIST lines 0 10 lines)
  message(FATAL_ERROR "run clang-format -i on: ${lines}")
endif()
