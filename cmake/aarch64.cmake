# Toolchain of `make cross` (tools/cross_check.sh): g++ for aarch64, libraries and headers of FLEXOR_SYSROOT, which holds
# the distribution's arm64 packages.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FLEXOR_SYSROOT)

set(CMAKE_FIND_ROOT_PATH ${FLEXOR_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${FLEXOR_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${FLEXOR_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${FLEXOR_SYSROOT})

# pkg-config leaves these out, which are the compiler's own on the machine itself.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${FLEXOR_SYSROOT}/usr/include/aarch64-linux-gnu ${FLEXOR_SYSROOT}/usr/include)
