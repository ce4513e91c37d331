# The API reference, for those who have Doxygen: cmake --build BUILD --target docs
find_package(Doxygen QUIET)
if(DOXYGEN_FOUND)
  configure_file(${PROJECT_SOURCE_DIR}/docs/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
  add_custom_target(docs COMMAND ${DOXYGEN_EXECUTABLE} ${PROJECT_BINARY_DIR}/Doxyfile
                    COMMENT "API reference in ${PROJECT_BINARY_DIR}/docs/html" VERBATIM)
endif()
