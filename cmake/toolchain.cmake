# Compiler cache, linker, target machine and sanitizers.

find_program(CCACHE ccache)
if(CCACHE)  # BASEDIR + NOHASHDIR: a clone in another folder hits too; the sloppiness is what GCC's PCH needs
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
endif()

if(NOT CMAKE_CROSSCOMPILING)  # the cross-compiler does not find it
  find_program(MOLD mold)
endif()
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Any x86-64-v3 machine (AVX2, 2013 and newer) runs the program; other architectures take their baseline.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  add_compile_options(-march=x86-64-v3)
endif()
add_compile_options(-ffp-contract=off)  # a fused multiply-add would round differently from the references

if(FLEXOR_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(CMAKE_CXX_FLAGS_RELEASE "-O0 -g1")  # twice as fast to compile as GCC
  else()
    set(CMAKE_CXX_FLAGS_RELEASE "-Og -g1")  # -O1 finds no more and compiles half as fast under the sanitizers
  endif()
endif()
