# cmake -DROOT=FOLDER -P commit.cmake: what cmake/commit.cmake says of trees with and without a history.
set(folder ${CMAKE_CURRENT_BINARY_DIR}/commit_test)
file(REMOVE_RECURSE ${folder})
file(MAKE_DIRECTORY ${folder}/tree/cmake)
file(WRITE ${folder}/tree/cmake/commit.txt "$Format:%h,%cs$\n")
function(expect pattern)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${folder}/tree -DOUT=${folder}/commit.cpp -P ${ROOT}/cmake/commit.cmake
                  COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${folder}/commit.cpp text)
  if(NOT text MATCHES "set_commit\\(${pattern}\\)")
    message(FATAL_ERROR "expected ${pattern}, found ${text}")
  endif()
endfunction()
function(git)
  execute_process(COMMAND git -C ${folder}/tree -c user.name=test -c user.email=test@example.org ${ARGN}
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

expect("\"\", \"\"")  # neither history nor archive, or within the history of another tree
set(ENV{GIT_COMMITTER_DATE} 2026-02-03T04:05:06Z)
git(init -q)
git(add .)
git(commit -q -m first)
expect("\"[0-9a-f]+\", \"2026-02-03\"")
file(APPEND ${folder}/tree/cmake/commit.txt "changed\n")
expect("\"[0-9a-f]+\\+\", \"2026-02-03\"")
file(REMOVE_RECURSE ${folder}/tree/.git)
file(WRITE ${folder}/tree/cmake/commit.txt "1a2b3c4d,2026-05-06\n")  # as `git archive` fills it in
expect("\"1a2b3c4d\", \"2026-05-06\"")
file(REMOVE_RECURSE ${folder})
