# The archive and the .deb of CPack, and what both bring along (packaging/build.sh). The libraries that
# the programs are linked with lie in lib/weft, but for those of glibc.
if(NOT CMAKE_INSTALL_LIBDIR STREQUAL "lib")
  message(FATAL_ERROR "a package has the same folders everywhere: say -DCMAKE_INSTALL_LIBDIR=lib")
endif()
set(programs weft weft-host-cuda)
set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/weft")
foreach(program ${programs})
  target_link_options(${program} PRIVATE LINKER:--disable-new-dtags)  # for the libraries' own ones, too
endforeach()
target_link_options(weft PRIVATE LINKER:--strip-all)
set(of_glibc "^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util))[.]so[.]")
install(RUNTIME_DEPENDENCY_SET weft_dependencies
        PRE_EXCLUDE_REGEXES ${of_glibc} POST_EXCLUDE_REGEXES "/ld-linux[^/]*$"
        LIBRARY DESTINATION lib/weft COMPONENT program)
# host-cuda shows the lines of kernels.
install(DIRECTORY engine kernels DESTINATION lib/weft/source COMPONENT program
        FILES_MATCHING PATTERN "*.cu" PATTERN "*.cuh" PATTERN "*.h" PATTERN "cpu" EXCLUDE)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install_licences(${CMAKE_INSTALL_DOCDIR} program)

string(TOLOWER ${CMAKE_SYSTEM_NAME} system)
set(CPACK_GENERATOR TXZ DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "A small deep-learning engine of hand-written CUDA kernels")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_FILE_NAME weft-${PROJECT_VERSION}-${system}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_COMPONENTS_ALL program)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/archive.cmake)  # a folder on top, of an archive only
file(WRITE ${CPACK_PROJECT_CONFIG_FILE} "if(CPACK_GENERATOR STREQUAL TXZ)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()\n")
set(CPACK_STRIP_FILES OFF)  # host-cuda reads its own symbols
set(CPACK_THREADS 0)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The authors of Weft")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++")  # which `weft lab` compiles programs with
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)
