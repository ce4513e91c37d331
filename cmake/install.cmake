# `cmake --install` and a package for find_package(weft): targets weft::engine, weft::kernels,
# weft::layers, weft::distributed, weft::data and weft::models.
include(CMakePackageConfigHelpers)
set(libraries weft_flags weft_engine weft_kernels weft_layers weft_distributed weft_data weft_models)
install(TARGETS ${libraries} EXPORT weft-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS weft RUNTIME_DEPENDENCY_SET weft_dependencies
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
if(TARGET weft-host-cuda)  # to which weft hands over
  install(TARGETS weft-host-cuda RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program OPTIONAL)
endif()
if(TARGET weft_mpi)
  install(TARGETS weft_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft)
endif()
# What `weft lab` compiles and links programs with: the folder that it has in a build too.
if(TARGET weft_lab)
  install_lab(${CMAKE_INSTALL_LIBDIR}/weft/lab program)
endif()
# What the program says of itself: the manual page, and completion for three shells.
function(install_page path)
  install(CODE "
    set(page \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${path}\")
    get_filename_component(folder \"\${page}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    message(STATUS \"Installing: \${page}\")
    execute_process(COMMAND \"$<TARGET_FILE:weft>\" ${ARGN} OUTPUT_FILE \"\${page}\"
                    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
endfunction()
install_page(man/man1/weft.1 man)
install_page(bash-completion/completions/weft completion bash)
install_page(zsh/site-functions/_weft completion zsh)
install_page(fish/vendor_completions.d/weft.fish completion fish)
foreach(folder engine kernels layers distributed data models)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft
          FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh"
          PATTERN "onnx" EXCLUDE)  # a part of the program, not of the package
endforeach()
install(FILES bench/train.py bench/scaling.py bench/scaling_model.py bench/machine.py bench/compare.py bench/gpu_state.py
        DESTINATION share/weft/bench)
install(FILES bench/pytorch/cpu.py bench/pytorch/gpu.py bench/pytorch/ddp.py bench/pytorch/networks.py
        DESTINATION share/weft/bench/pytorch)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${package_dir})
configure_package_config_file(cmake/weft-config.cmake.in weft-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weft-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${package_dir})
if(WEFT_PACKAGE)
  include(cmake/package.cmake)
endif()
