# cmake -DROOT=FOLDER -DOUT=FILE.cpp -P commit.cmake
# Writes a source that says which commit of the tree in ROOT is built, and of which date: by its history, or, in an
# archive that `git archive` made, by cmake/commit.txt. The file is touched only when that has changed.
function(git out)
  execute_process(COMMAND git -C ${ROOT} ${ARGN} OUTPUT_VARIABLE text ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE failed)
  if(failed)
    set(text "")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

set(commit "")
set(date "")
git(top rev-parse --show-toplevel)
file(REAL_PATH "${ROOT}" root)
if(top STREQUAL root)
  git(known log -1 --format=%h,%cs)
  git(changes status --porcelain --untracked-files=no)
else()  # no history, or that of a tree which holds this one
  file(STRINGS ${ROOT}/cmake/commit.txt known LIMIT_COUNT 1)
endif()
if(known MATCHES "^([0-9a-f]+),([0-9-]+)$")
  set(commit ${CMAKE_MATCH_1})
  set(date ${CMAKE_MATCH_2})
  if(changes)
    string(APPEND commit +)
  endif()
endif()
set(text "#include \"data/versions/build_info.h\"\n
namespace {
[[maybe_unused]] const bool known = weft::set_commit(\"${commit}\", \"${date}\");
}\n")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUT} "${text}")
endif()
