# How Weft's own targets are compiled.
add_library(weft_flags INTERFACE)
target_include_directories(weft_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/weft>)
target_compile_features(weft_flags INTERFACE cxx_std_20)

add_library(weft_warnings INTERFACE)
target_compile_options(weft_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
if(WEFT_WERROR)  # who only uses Weft may have a compiler that warns of something else
  target_compile_options(weft_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
endif()
# Errors know their line of the source. Two builds in two folders give the same bytes all the same.
target_compile_options(weft_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # Where every processor multiplies and adds in one, the compiler does so everywhere: bits would depend on
  # what it inlines. The CPU kernels ask for it (weft_add_cpu_kernels).
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
endif()
if(WEFT_LINEINFO)
  target_compile_options(weft_warnings INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms: on "text" + std::string (GCC bug 105651), and on functions that return a view.
  target_compile_options(weft_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict
    $<$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>:-Wno-dangling-reference>>)
  if(WEFT_SANITIZE)  # another one: in std::regex, once its constructors are instrumented
    target_compile_options(weft_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  endif()
else()
  # clang tells of every loop under `omp simd` that it does not vectorise.
  target_compile_options(weft_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-pass-failed>)
endif()
if(WEFT_SANITIZE)
  # Accesses through null and past the ends of objects are left to AddressSanitizer: UBSan's checks
  # of them are slow to compile.
  set(sanitizers -fsanitize=address,undefined -fno-sanitize=null,object-size
                 -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${sanitizers}>")
  add_link_options(-fsanitize=address,undefined)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_definitions(__SANITIZE_ADDRESS__)  # which g++ defines by itself
  endif()
endif()
if(WEFT_FUZZ)  # counts edges and compares for libFuzzer
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>")
endif()
if(WEFT_CUDA)
  # The driver unpacks the kernels of a file when the first of them is called.
  set(compress -Xfatbin=-compress-all)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    set(compress --compress-mode=size)
  endif()
  target_compile_options(weft_warnings INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:${compress}>)
  string(REPLACE ";" " " architectures "${CMAKE_CUDA_ARCHITECTURES}")
  target_compile_definitions(weft_warnings INTERFACE WEFT_WITH_CUDA
    WEFT_CUDA_ARCHITECTURES="${architectures}")
endif()

# For a build from nothing, with WEFT_PRECOMPILE; they make ccache less useful.
# weft_precompile(TARGET [HEADER...])   common_headers.h and these are read once for all its sources,
#                                       and without these once for all such targets
# weft_unite(TARGET)                    24 sources are compiled as one, which share templates' code
if(WEFT_PRECOMPILE)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)
  set(common_headers "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/common_headers.h>")
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/headers.cpp CONTENT "")
  add_library(weft_headers OBJECT ${PROJECT_BINARY_DIR}/headers.cpp)
  target_link_libraries(weft_headers PRIVATE weft_flags weft_warnings OpenMP::OpenMP_CXX)
  target_precompile_headers(weft_headers PRIVATE ${common_headers})
endif()
function(weft_precompile target)
  if(WEFT_PRECOMPILE AND ARGN)
    target_precompile_headers(${target} PRIVATE ${common_headers} ${ARGN})
  elseif(WEFT_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM weft_headers)
  endif()
endfunction()
function(weft_unite target)
  if(WEFT_PRECOMPILE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
  endif()
endfunction()

# FOLDER/*/cpu/instances.cpp, once for each instruction set that the run-time dispatch can choose.
function(weft_add_cpu_kernels target folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/instances.cpp)
  set(isas baseline)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND isas avx2 avx512)
    target_compile_definitions(${target} PRIVATE WEFT_X86_DISPATCH)
  endif()
  set(flags_avx2 -mavx2 -mfma)
  set(flags_avx512 -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl
                   -mprefer-vector-width=512)
  if(target STREQUAL "weft_kernels" AND "avx512" IN_LIST isas)
    list(APPEND isas avx512vnni)  # for the one family that has a use for it
  endif()
  set(flags_avx512vnni ${flags_avx512} -mavx512vnni)
  foreach(isa ${isas})
    if(isa STREQUAL "avx512vnni")
      list(FILTER sources INCLUDE REGEX "/int8/")
    endif()
    add_library(${target}_${isa} OBJECT ${sources})
    target_compile_definitions(${target}_${isa} PRIVATE WEFT_ISA=${isa})
    target_compile_options(${target}_${isa} PRIVATE -O3 -ffp-contract=fast -fno-math-errno
                           -fno-trapping-math -Wno-psabi ${flags_${isa}})
    target_link_libraries(${target}_${isa} PRIVATE weft_flags weft_warnings OpenMP::OpenMP_CXX)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
    if(target STREQUAL "weft_kernels")
      weft_precompile(${target}_${isa} <vector>)
      weft_unite(${target}_${isa})
    endif()
  endforeach()
endfunction()

# weft_library(FOLDER [DEPENDENCY...]): a static library weft_FOLDER from every source of a folder.
function(weft_library folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/cpu/instances\\.cpp$|/models/onnx/|/mpi_module/")
  if(WEFT_CUDA)
    file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cu)
    list(APPEND sources ${cuda_sources})
  endif()
  add_library(weft_${folder} STATIC ${sources})
  add_library(weft::${folder} ALIAS weft_${folder})
  set_target_properties(weft_${folder} PROPERTIES EXPORT_NAME ${folder})
  target_link_libraries(weft_${folder} PUBLIC weft_flags PRIVATE $<BUILD_INTERFACE:weft_warnings>)
  foreach(dependency ${ARGN})
    target_link_libraries(weft_${folder} PUBLIC weft_${dependency})
  endforeach()
  # Eight sources are compiled as one, but for those with local names that others have too.
  if(folder MATCHES "^(layers|models)$")
    set_target_properties(weft_${folder} PROPERTIES UNITY_BUILD ON)
    set(alone ${sources})
    list(FILTER alone INCLUDE REGEX "/(conv_relu_pool|residual|json_check|safetensors|fused_mlp|networks)[.]cpp$")
    set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  elseif(folder MATCHES "^(distributed|engine)$")
    weft_unite(weft_${folder})
  endif()
  if(folder STREQUAL "engine")
    target_link_libraries(weft_engine PUBLIC Threads::Threads)
    if(WEFT_CUDA)
      target_link_libraries(weft_engine PUBLIC CUDA::cudart_static)
    endif()
  elseif(folder STREQUAL "kernels")
    target_link_libraries(weft_kernels PUBLIC OpenMP::OpenMP_CXX)
    weft_add_cpu_kernels(weft_kernels kernels)
    weft_precompile(weft_kernels)
  elseif(folder STREQUAL "distributed")
    target_compile_options(weft_distributed PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O2>)
    target_link_libraries(weft_distributed PUBLIC ${CMAKE_DL_LIBS})
    set_source_files_properties(${PROJECT_SOURCE_DIR}/distributed/mpi.cpp PROPERTIES
      COMPILE_DEFINITIONS WEFT_INSTALLED_LIBRARIES="../${CMAKE_INSTALL_LIBDIR}/weft")
    if(WEFT_CUDA)  # which host-cuda has not
      target_compile_definitions(weft_distributed PRIVATE WEFT_PEER_GPUS)
    endif()
    if(WEFT_CUDA AND WEFT_NCCL AND NCCL_INCLUDE_DIR)
      target_include_directories(weft_distributed SYSTEM PRIVATE ${NCCL_INCLUDE_DIR})
      target_compile_definitions(weft_distributed PRIVATE WEFT_WITH_NCCL)
    endif()
    if(WEFT_MPI)
      add_library(weft_mpi MODULE ${PROJECT_SOURCE_DIR}/distributed/mpi_module/module.cpp)
      target_link_libraries(weft_mpi PRIVATE MPI::MPI_CXX weft_flags weft_warnings)
      set_target_properties(weft_mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    else()
      file(REMOVE ${PROJECT_BINARY_DIR}/libweft_mpi.so)  # of a build that had MPI
    endif()
  elseif(folder STREQUAL "data")
    add_library(weft_data_libraries INTERFACE)  # what its objects are linked with
    target_link_libraries(weft_data_libraries INTERFACE ZLIB::ZLIB ${CMAKE_DL_LIBS})
    target_link_libraries(weft_data PRIVATE ZLIB::ZLIB fmt::fmt ${CMAKE_DL_LIBS}
                          $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
    target_include_directories(weft_data SYSTEM PRIVATE ${STB_INCLUDE_DIR})
    # Libraries that a build may lack, and the source that each is for.
    set(known "")
    foreach(use WEBP:picture/webp TIFF:picture/tiff JPEG:picture/jpeg/large_jpeg HEIF:picture/heif LIBDEFLATE:files/gzip
                LIBDEFLATE:files/zip_index LIBARCHIVE:files/archive)
      string(REGEX MATCH "(.*):(.*)" use ${use})
      set(library ${CMAKE_MATCH_1})
      set(source ${PROJECT_SOURCE_DIR}/data/${CMAKE_MATCH_2}.cpp)
      if(WEFT_${library})
        target_include_directories(weft_data SYSTEM PRIVATE ${${library}_INCLUDE_DIR})
        target_link_libraries(weft_data PRIVATE ${${library}_LIBRARY})
        target_link_libraries(weft_data_libraries INTERFACE ${${library}_LIBRARY})
        set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS WEFT_WITH_${library})
        list(APPEND known WEFT_WITH_${library})
      endif()
    endforeach()
    if(WEFT_HDF5)
      target_include_directories(weft_data SYSTEM PRIVATE ${HDF5_INCLUDE_DIR})
      set_source_files_properties(${PROJECT_SOURCE_DIR}/data/arrays/hdf5.cpp PROPERTIES
        COMPILE_DEFINITIONS "WEFT_WITH_HDF5;WEFT_HDF5_LIBRARY=\"${WEFT_HDF5_LIBRARY}\"")
    endif()
    file(STRINGS ${STB_INCLUDE_DIR}/stb_image.h stb_version LIMIT_COUNT 1)  # it has no macro for it
    string(REGEX MATCH "[0-9]+[.][0-9]+" stb_version "${stb_version}")
    set_source_files_properties(${PROJECT_SOURCE_DIR}/data/versions/build_info.cpp PROPERTIES
      COMPILE_DEFINITIONS WEFT_VERSION="${PROJECT_VERSION}")
    set_source_files_properties(${PROJECT_SOURCE_DIR}/data/versions/library_versions.cpp PROPERTIES
      COMPILE_DEFINITIONS "WEFT_STB_VERSION=\"${stb_version}\";${known}")
    # Where stb_image has no SIMD, its transforms of hostile coefficients overflow.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/data/picture/stb.cpp PROPERTIES
      COMPILE_OPTIONS -fwrapv SKIP_PRECOMPILE_HEADERS ON)
    weft_precompile(weft_data <vector>)  # without OpenMP
    if(WEFT_FOR_PIP)  # two thirds of the time of -O3, and the same bits
      target_compile_options(weft_data PRIVATE -O1)
    endif()
  elseif(folder STREQUAL "models")
    # The built-in networks are a part of the library.
    file(GLOB networks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/networks/*.net)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${networks})
    set(table "// From models/networks.\n")
    foreach(network ${networks})
      get_filename_component(name ${network} NAME_WLE)
      file(READ ${network} text)
      string(APPEND table "{\"${name}\", R\"net(${text})net\"},\n")
    endforeach()
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/networks/network_files.inc CONTENT "${table}" @ONLY)
    target_include_directories(weft_models PRIVATE ${PROJECT_BINARY_DIR}/networks)
    # Bookkeeping and JSON around the kernels: -O3 only makes it slow to compile.
    target_compile_options(weft_models PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
    # But the variation of each image is a loop over its pixels, for vectors.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/models/answers/calibration.cpp PROPERTIES
      COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
    target_link_libraries(weft_models PRIVATE fmt::fmt
                          $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
    weft_precompile(weft_models <vector>)  # without OpenMP
  endif()
endfunction()

# weft_onnx: models/onnx, which alone is linked with protobuf.
function(weft_onnx_library)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/onnx/*.cpp
       ${PROJECT_SOURCE_DIR}/models/onnx/simplify/*.cpp)
  set(absent ${PROJECT_SOURCE_DIR}/models/onnx/absent.cpp)
  list(REMOVE_ITEM sources ${absent})
  if(NOT WEFT_ONNX)
    set(sources ${absent})
  endif()
  add_library(weft_onnx STATIC ${sources})
  target_compile_options(weft_onnx PRIVATE -O1)
  target_link_libraries(weft_onnx PUBLIC weft_models PRIVATE weft_warnings)
  add_library(weft_onnx_libraries INTERFACE)  # what its objects are linked with
  if(WEFT_ONNX)
    target_compile_definitions(weft_onnx PRIVATE ONNX_ML)
    target_include_directories(weft_onnx SYSTEM PRIVATE ${ONNX_INCLUDE_DIR} ${Protobuf_INCLUDE_DIRS})
    target_link_libraries(weft_onnx_libraries INTERFACE ${ONNX_PROTO_LIBRARY} ${Protobuf_LIBRARIES})
  endif()
  target_link_libraries(weft_onnx PRIVATE weft_onnx_libraries)
endfunction()

# install_licences(FOLDER COMPONENT [EXCLUDE_FROM_ALL])   of what a package brings along
function(install_licences folder)
  install(CODE "
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}\")
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/packaging/licences.sh\" \"$<TARGET_FILE:weft>\"
                    OUTPUT_FILE \"\${folder}/LICENCES.txt\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${ARGN})
endfunction()
