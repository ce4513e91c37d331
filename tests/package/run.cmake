# Installs the build into a fresh prefix, builds the consumer against it, and runs it.
file(REMOVE_RECURSE ${WORK})
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN} failed:\n${text}")
  endif()
endfunction()
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
step(${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix
     -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${FLAGS}")
step(${CMAKE_COMMAND} --build ${WORK}/build)
step(${WORK}/build/consumer)
step(${WORK}/prefix/bin/weft --version)
# The lab without the source tree.
if(LAB)
  set(ENV{XDG_CACHE_HOME} ${WORK}/cache)
  file(COPY ${SOURCE}/../../examples/lab/vector_add.cu DESTINATION ${WORK}/student)
  execute_process(COMMAND ${WORK}/prefix/bin/weft lab run vector_add.cu 100
                  WORKING_DIRECTORY ${WORK}/student RESULT_VARIABLE code OUTPUT_VARIABLE text
                  ERROR_VARIABLE text)
  if(NOT code EQUAL 0 OR NOT text MATCHES "100 sums in 1 blocks of 256 threads, 0 of them wrong")
    message(FATAL_ERROR "the installed lab does not run vector_add.cu: ${text}")
  endif()
endif()
foreach(page man/man1/weft.1 bash-completion/completions/weft zsh/site-functions/_weft
             fish/vendor_completions.d/weft.fish)
  file(SIZE ${WORK}/prefix/share/${page} bytes)
  if(bytes LESS 1000)
    message(FATAL_ERROR "${page} has ${bytes} bytes")
  endif()
endforeach()
