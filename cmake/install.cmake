# `cmake --install` and a package for find_package(weft): targets weft::engine, weft::kernels,
# weft::layers, weft::data and weft::models.
include(CMakePackageConfigHelpers)
set(libraries weft_flags weft_engine weft_kernels weft_layers weft_data weft_models)
install(TARGETS ${libraries} EXPORT weft-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(folder engine kernels layers data models)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft
          FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
endforeach()
install(FILES bench/train.py bench/machine.py bench/torch_cpu.py bench/torch_cuda.py
              bench/torch_networks.py DESTINATION share/weft/bench)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${package_dir})
configure_package_config_file(cmake/weft-config.cmake.in weft-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weft-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${package_dir})
