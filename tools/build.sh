#!/usr/bin/env bash
# tools/build.sh DIR TARGET [CMAKE OPTIONS]: configures DIR when it is new or the options changed, then builds TARGET.
# JOBS=N limits the compilers that run at once (one needs up to 1 GB of memory); FLEXOR_TORCH as in install_deps.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$1 target=$2
shift 2
options=(-G Ninja -S . -B "$dir" -DPython3_EXECUTABLE="$PWD/.deps/venv/bin/python" -DFLEXOR_TORCH="${FLEXOR_TORCH:-}" "$@")
if [ ! -e "$dir/build.ninja" ] || [ "$(cat "$dir/options.txt" 2>/dev/null)" != "${options[*]}" ]; then
  mkdir -p "$dir"
  if ! cmake "${options[@]}" >"$dir/cmake.log" 2>&1; then
    cat "$dir/cmake.log" >&2
    exit 1
  fi
  echo "${options[*]}" >"$dir/options.txt"
fi
exec ninja -C "$dir" ${JOBS:+-j "$JOBS"} "$target"
