# Compiles wrong_rows.cpp: a table that is right, and the wrong ones, which the compiler must refuse
# for the reason that kernels/ladder.h gives.
set(reasons "right" "named after another rung" "launcher is missing" "the same name"
    "lacks a sentence")
foreach(wrong RANGE 0 4)
  execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -Wno-missing-field-initializers
                          -DWRONG=${wrong} -I${ROOT} ${ROOT}/tests/ladder/wrong_rows.cpp
                  RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  list(GET reasons ${wrong} reason)
  if(wrong EQUAL 0)
    if(NOT code EQUAL 0)
      message(SEND_ERROR "the right table does not compile: ${text}")
    endif()
  elseif(code EQUAL 0)
    message(SEND_ERROR "wrong table ${wrong} compiles")
  elseif(NOT text MATCHES "${reason}")
    message(SEND_ERROR "wrong table ${wrong} is refused, but not because: ${reason}\n${text}")
  endif()
endforeach()
