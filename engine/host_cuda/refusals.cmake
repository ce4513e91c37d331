# Writes OUTPUT, a source with the launchers of kernels/ that FILES call and do not define: those
# of kernels whose instructions only a GPU has. Each throws.
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
