#!/usr/bin/env bash
# tools/build.sh DIR TARGET [CMAKE OPTIONS]: configures DIR when it is new, then builds TARGET with all cores.
# JOBS=N limits the compilers that run at once (one needs up to 1 GB of memory).
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$1 target=$2
shift 2
[ -e "$dir/build.ninja" ] && [ $# -eq 0 ] ||
  cmake -G Ninja -S . -B "$dir" -DPython3_EXECUTABLE="$PWD/.deps/venv/bin/python" "$@" >"$dir.cmake.log" 2>&1 || {
    cat "$dir.cmake.log" >&2
    exit 1
  }
rm -f "$dir.cmake.log"
ninja -C "$dir" ${JOBS:+-j "$JOBS"} "$target"
