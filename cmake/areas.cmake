# flexor_area(<name> [TENSOR] [USES libraries] [PRIVATE_USES libraries]):
#   src/<name>/*.cpp -> library flexor_<name>, src/<name>/*_test.cpp -> program <name>_test, run by ctest.
# TENSOR areas share one precompiled tensor/tensor.h.

function(flexor_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow=local -Wnon-virtual-dtor
                         $<$<BOOL:${FLEXOR_WERROR}>:-Werror>)
endfunction()

function(flexor_use_tensor_pch target)
  target_compile_options(${target} PRIVATE -fpch-preprocess)  # lets ccache see through GCC's PCH
  if(target STREQUAL "flexor_tensor")
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/tensor/tensor.h
                              <functional> <map> <memory> <optional> <span> <sstream> <string> <vector>)
  else()
    target_precompile_headers(${target} REUSE_FROM flexor_tensor)
  endif()
endfunction()

function(flexor_area name)
  cmake_parse_arguments(ARG "TENSOR" "" "USES;PRIVATE_USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${name}/*.cpp)  # a new file needs no CMake edit
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(NOT sources)  # an area without sources passes on what it uses
    add_library(flexor_${name} INTERFACE)
    target_link_libraries(flexor_${name} INTERFACE ${ARG_USES})
    return()
  endif()
  add_library(flexor_${name} STATIC ${sources})
  target_include_directories(flexor_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(flexor_${name} PUBLIC ${ARG_USES} PRIVATE ${ARG_PRIVATE_USES})
  target_compile_definitions(flexor_${name} PRIVATE $<$<STREQUAL:${name},testing>:FLEXOR_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests">)
  set(targets flexor_${name})
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE flexor_${name} $<$<BOOL:${ARG_TENSOR}>:flexor_testing> GTest::gmock
                          GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE FLEXOR_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests")
    add_test(NAME ${name} COMMAND ${name}_test)
    list(APPEND targets ${name}_test)
  endif()
  foreach(target IN LISTS targets)
    flexor_compile_options(${target})
    if(ARG_TENSOR)
      flexor_use_tensor_pch(${target})
    endif()
  endforeach()
endfunction()
