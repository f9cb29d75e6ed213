# LibTorch and Arrow C++ come out of the wheels `torch` and `pyarrow` of -DPython3_EXECUTABLE=<venv>/bin/python
# (`make deps` makes that environment); everything else is a distribution package.

find_package(GTest REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(FFMPEG REQUIRED IMPORTED_TARGET libavformat libavcodec libavutil libswscale)
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET sentencepiece)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc>=2.0)

find_package(Python3 REQUIRED COMPONENTS Interpreter)
function(ask_python out code)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "${code}" OUTPUT_VARIABLE text ERROR_VARIABLE why RESULT_VARIABLE rc
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT rc EQUAL 0)
    message(FATAL_ERROR "${Python3_EXECUTABLE} lacks torch or pyarrow: run `make deps`\n${why}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# By path: find_package(Torch) demands the CUDA toolkit as soon as the wheel has CUDA. FLEXOR_TORCH names another
# LibTorch folder, or a Python environment that holds one. Device libraries are loaded at run time, never linked.
set(FLEXOR_TORCH "$ENV{FLEXOR_TORCH}" CACHE STRING "LibTorch folder or Python environment to build against")
if(FLEXOR_TORCH)
  file(GLOB candidates "${FLEXOR_TORCH}/lib/python3*/site-packages/torch" "${FLEXOR_TORCH}/torch" "${FLEXOR_TORCH}")
  foreach(candidate IN LISTS candidates)
    if(EXISTS "${candidate}/lib/libtorch_cpu.so" AND NOT torch_dir)
      set(torch_dir "${candidate}")
    endif()
  endforeach()
  if(NOT torch_dir)
    message(FATAL_ERROR "no lib/libtorch_cpu.so below FLEXOR_TORCH=${FLEXOR_TORCH}")
  endif()
else()
  ask_python(torch_dir "import importlib.util, os; print(os.path.dirname(importlib.util.find_spec('torch').origin))")
endif()
add_library(flexor_torch INTERFACE)
target_include_directories(flexor_torch SYSTEM INTERFACE "${torch_dir}/include" "${torch_dir}/include/torch/csrc/api/include")
target_compile_definitions(flexor_torch INTERFACE AT_PER_OPERATOR_HEADERS USE_DISTRIBUTED USE_C10D_GLOO)
target_link_libraries(flexor_torch INTERFACE "${torch_dir}/lib/libtorch_cpu.so" "${torch_dir}/lib/libc10.so")

# The wheel has only versioned names (libarrow.so.2600): find_package(Arrow) is blind to them.
ask_python(arrow_dir "import pyarrow; print(pyarrow.get_library_dirs()[0])")
ask_python(arrow_so "import pyarrow; v = pyarrow.cpp_version_info; print(v.major * 100 + v.minor)")
add_library(flexor_arrow INTERFACE)
target_include_directories(flexor_arrow SYSTEM INTERFACE "${arrow_dir}/include")
target_link_libraries(flexor_arrow INTERFACE "${arrow_dir}/libarrow.so.${arrow_so}" "${arrow_dir}/libparquet.so.${arrow_so}")
set(CMAKE_BUILD_RPATH "${torch_dir}/lib;${arrow_dir}")
