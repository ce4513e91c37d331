# Writes OUTPUT, a source with the launchers of kernels/ that FILES call and do not define: those
# of kernels whose instructions only a GPU has. Each throws.
list(FILTER FILES EXCLUDE REGEX "[.]gch$")  # of WEFT_PRECOMPILE
execute_process(COMMAND ${NM} -u ${FILES} OUTPUT_VARIABLE undefined COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${NM} --defined-only -g ${FILES} OUTPUT_VARIABLE defined
                COMMAND_ERROR_IS_FATAL ANY)
set(launcher "_ZN4weft7kernels4cuda[A-Za-z0-9_]+")
string(REGEX MATCHALL "${launcher}" undefined "${undefined}")
string(REGEX MATCHALL "${launcher}" defined "${defined}")
list(REMOVE_DUPLICATES undefined)
list(REMOVE_ITEM undefined ${defined})
set(text "namespace weft::host_cuda {\n[[noreturn]] void refuse();\n}\n")
set(number 0)
foreach(symbol ${undefined})
  math(EXPR number "${number} + 1")
  string(APPEND text "void refuse_${number}() asm(\"${symbol}\");\n"
                     "void refuse_${number}() { weft::host_cuda::refuse(); }\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")

# A local static with a constructor is no __shared__ variable, and shared_section.ld would take it for one.
set(kernels ${FILES})
list(FILTER kernels INCLUDE REGEX "/kernels/.*[.]cu[.]o$")
execute_process(COMMAND ${NM} ${kernels} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
if(symbols MATCHES "_ZGV(Z[A-Za-z0-9_]+)")
  message(FATAL_ERROR "a host function in a .cu file has a static variable: _Z${CMAKE_MATCH_1}; "
                      "move it to a .cpp file")
endif()
