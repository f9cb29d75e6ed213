# flexor_area(<name> [TENSOR] [USES libraries] [PRIVATE_USES libraries]):
#   src/<name>/*.cpp -> library flexor_<name>, src/<name>/*_test.cpp -> program <name>_test, run by ctest.
# TENSOR areas share one precompiled tensor/tensor.h, their tests one with GoogleTest in it; other tests share a third.

# Sources are compiled in groups: a source costs little beside the headers and templates that all of them share. So names
# in anonymous namespaces are unique in an area. -DFLEXOR_UNITY=OFF compiles every source alone.
set(FLEXOR_UNITY_SOURCES 8)
if(FLEXOR_SANITIZE)  # the templates of a group are compiled once, and that is most of the time without optimization
  set(FLEXOR_UNITY_SOURCES 16)
endif()

function(flexor_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wnon-virtual-dtor
                         $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wno-unused-command-line-argument>
                         $<$<BOOL:${FLEXOR_WERROR}>:-Werror>)
  if(FLEXOR_UNITY)
    # GCC takes a field whose type is of an anonymous namespace for one of a header.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${FLEXOR_UNITY_SOURCES})
  endif()
endfunction()

set(FLEXOR_PCH_STD <functional> <map> <memory> <optional> <span> <sstream> <string> <vector>)
set(FLEXOR_PCH_TEST ${FLEXOR_PCH_STD} <gmock/gmock.h> <gtest/gtest.h>)
set(FLEXOR_PCH_TENSOR ${PROJECT_SOURCE_DIR}/src/tensor/tensor.h ${FLEXOR_PCH_STD})

# The target's own precompiled headers, or those of the target OF.
function(flexor_use_pch target)
  cmake_parse_arguments(ARG "" "OF" "HEADERS" ${ARGN})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # lets ccache see through GCC's PCH
  if(ARG_OF AND NOT ARG_OF STREQUAL target)
    target_precompile_headers(${target} REUSE_FROM ${ARG_OF})
  else()
    target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
  endif()
endfunction()

# Tests are compiled without optimization: that takes less time than they lose.
function(flexor_test_options target)
  flexor_compile_options(${target})
  target_compile_options(${target} PRIVATE -O0)
endfunction()

function(flexor_area name)
  cmake_parse_arguments(ARG "TENSOR" "" "USES;PRIVATE_USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${name}/*.cpp)  # a new file needs no CMake edit
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
  if(NOT sources)  # an area without sources passes on what it uses
    add_library(flexor_${name} INTERFACE)
    target_link_libraries(flexor_${name} INTERFACE ${ARG_USES})
    return()
  endif()
  add_library(flexor_${name} STATIC ${sources})
  target_include_directories(flexor_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(flexor_${name} PUBLIC ${ARG_USES} PRIVATE ${ARG_PRIVATE_USES})
  target_compile_definitions(flexor_${name} PRIVATE $<$<STREQUAL:${name},testing>:FLEXOR_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests">)
  if(name STREQUAL "testing")
    flexor_test_options(flexor_testing)
    flexor_use_pch(flexor_testing HEADERS ${FLEXOR_PCH_TENSOR} ${FLEXOR_PCH_TEST})
  else()
    flexor_compile_options(flexor_${name})
    if(FLEXOR_SANITIZE AND NOT ARG_TENSOR)  # loops over pixels and text; precompiled headers keep the others at -O0
      target_compile_options(flexor_${name} PRIVATE -O1)
    endif()
    if(ARG_TENSOR)
      flexor_use_pch(flexor_${name} OF flexor_tensor HEADERS ${FLEXOR_PCH_TENSOR})
    endif()
  endif()
  # At the end of the folder, when the target that precompiles the tests' headers is there.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL flexor_area_test ${name} ${ARG_TENSOR})")
endfunction()

function(flexor_area_test name is_tensor)
  file(GLOB tests CONFIGURE_DEPENDS ${name}/*_test.cpp)
  if(NOT tests)
    return()
  endif()
  add_executable(${name}_test ${tests})
  target_link_libraries(${name}_test PRIVATE flexor_${name} $<$<BOOL:${is_tensor}>:flexor_testing> GTest::gmock
                        GTest::gtest_main)
  target_compile_definitions(${name}_test PRIVATE FLEXOR_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests")
  flexor_test_options(${name}_test)
  if(is_tensor)
    flexor_use_pch(${name}_test OF flexor_testing)
  else()
    flexor_use_pch(${name}_test OF base_test HEADERS ${FLEXOR_PCH_TEST})
  endif()
  add_test(NAME ${name} COMMAND ${name}_test)
endfunction()
