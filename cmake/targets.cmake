# How Weft's own targets are compiled: warnings are errors for host and device code.
add_library(weft_flags INTERFACE)
target_include_directories(weft_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/weft>)
target_compile_features(weft_flags INTERFACE cxx_std_20)

add_library(weft_warnings INTERFACE)
set(host_warnings -Wall -Wextra -Werror)
target_compile_options(weft_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:${host_warnings} -Wshadow -Wconversion -Wno-sign-conversion>
  $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -lineinfo -Xcompiler=-Wall,-Wextra,-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms: on "text" + std::string (GCC bug 105651), and on functions that return a view.
  target_compile_options(weft_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict
    $<$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>:-Wno-dangling-reference>>)
endif()
if(WEFT_SANITIZE)
  # Accesses through null and past the ends of objects are left to AddressSanitizer: UBSan's checks
  # of them are slow to compile.
  set(sanitizers -fsanitize=address,undefined -fno-sanitize=null,object-size
                 -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${sanitizers}>")
  add_link_options(-fsanitize=address,undefined)
endif()
if(WEFT_CUDA)
  string(REPLACE ";" " " architectures "${CMAKE_CUDA_ARCHITECTURES}")
  target_compile_definitions(weft_warnings INTERFACE WEFT_WITH_CUDA
    WEFT_CUDA_ARCHITECTURES="${architectures}")
endif()

# kernels/*/cpu.cpp, once for each instruction set that the run-time dispatch can choose.
function(weft_add_cpu_kernels target)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*/cpu.cpp)
  set(isas baseline)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND isas avx2 avx512)
    target_compile_definitions(${target} PRIVATE WEFT_X86_DISPATCH)
  endif()
  set(flags_avx2 -mavx2 -mfma)
  set(flags_avx512 -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl
                   -mprefer-vector-width=512)
  foreach(isa ${isas})
    add_library(${target}_${isa} OBJECT ${sources})
    target_compile_definitions(${target}_${isa} PRIVATE WEFT_ISA=${isa})
    target_compile_options(${target}_${isa} PRIVATE -O3 -ffp-contract=fast -fno-math-errno
                           -fno-trapping-math -Wno-psabi ${flags_${isa}})
    target_link_libraries(${target}_${isa} PRIVATE weft_flags weft_warnings OpenMP::OpenMP_CXX)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
  endforeach()
endfunction()

# weft_library(FOLDER [DEPENDENCY...]): a static library weft_FOLDER from every source of a folder.
function(weft_library folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "kernels/[^/]+/cpu\\.cpp$|engine/host_cuda/")
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
  if(folder STREQUAL "engine")
    target_link_libraries(weft_engine PUBLIC Threads::Threads)
    if(WEFT_CUDA)
      target_link_libraries(weft_engine PUBLIC CUDA::cudart_static)
    endif()
  elseif(folder STREQUAL "kernels")
    target_link_libraries(weft_kernels PUBLIC OpenMP::OpenMP_CXX)
    weft_add_cpu_kernels(weft_kernels)
  elseif(folder STREQUAL "data")
    target_link_libraries(weft_data PRIVATE ZLIB::ZLIB $<BUILD_INTERFACE:fmt::fmt>)
    target_include_directories(weft_data SYSTEM PRIVATE ${STB_INCLUDE_DIR})
  elseif(folder STREQUAL "models")
    # Bookkeeping and JSON around the kernels: -O3 only makes it slow to compile.
    target_compile_options(weft_models PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
    target_link_libraries(weft_models PRIVATE $<BUILD_INTERFACE:fmt::fmt>
                          $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
  endif()
endfunction()
