#!/usr/bin/env bash
# tools/cross_check.sh: compiles every area for aarch64 and links the program, with g++ for that machine, against the headers and
# libraries of the aarch64 wheels of LibTorch and Arrow and of the distribution's arm64 packages. Nothing is run: this finds what
# would not compile or link there. The packages are unpacked into .deps/aarch64; the package system of this machine is not changed
# (but for the compiler). The closing line counts areas and the program.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build-aarch64}
sysroot=$PWD/.deps/aarch64/root
packages=(
  libavformat-dev libavcodec-dev libavutil-dev libswscale-dev libspdlog-dev nlohmann-json3-dev libyaml-cpp-dev libcli11-dev
  libsentencepiece-dev libhwloc-dev libgtest-dev libgmock-dev
)

fail() {
  printf 'error: %s\n  hint: %s\n' "$1" "$2" >&2
  exit 1
}

# apt for another machine, with lists and state of its own.
apt_of_arm64() {
  local state=.deps/aarch64/apt
  mkdir -p $state/lists/partial $state/cache/archives/partial
  : >$state/status
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "Dir::State=$PWD/$state" -o "Dir::State::status=$PWD/$state/status" \
    -o "Dir::State::lists=$PWD/$state/lists" -o "Dir::Cache=$PWD/$state/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root \
    -o Acquire::Retries=3 -o APT::Install-Recommends=0 -o Debug::NoLocking=1 "$@"
}

unpack_packages() {
  local stamp="${packages[*]}"
  [ "$(cat .deps/aarch64/stamp 2>/dev/null)" = "$stamp" ] && return
  command -v apt-get >/dev/null || fail "no apt on this system, which has the arm64 packages" "make cross works on Debian and Ubuntu"
  rm -rf .deps/aarch64
  mkdir -p "$sysroot"
  echo "[cross] arm64 packages into .deps/aarch64"
  apt_of_arm64 update >.deps/aarch64/apt.log 2>&1 && apt_of_arm64 install -y --download-only "${packages[@]}" >>.deps/aarch64/apt.log 2>&1 || {
    tail -n 8 .deps/aarch64/apt.log >&2
    fail "apt could not download the arm64 packages (.deps/aarch64/apt.log)" "the distribution's mirror must be reachable and have arm64"
  }
  local file
  for file in .deps/aarch64/apt/cache/archives/*.deb; do dpkg-deb --extract "$file" "$sysroot"; done
  du -shc .deps/aarch64/apt/cache/archives/*.deb | tail -n 1 | sed 's/^\(\S*\).*/[cross] \1 of packages/'
  rm -rf .deps/aarch64/apt
  echo "$stamp" >.deps/aarch64/stamp
}

command -v aarch64-linux-gnu-g++ >/dev/null || tools/install_deps.sh --cross
.deps/venv/bin/python tools/fetch_wheels.py aarch64
unpack_packages
wheels=$PWD/.deps/wheels/aarch64
# Without optimization: what does not compile is found just as well, in a third of the time.
FLEXOR_TORCH='' JOBS=${JOBS:-} tools/build.sh "$build" help "-DCMAKE_TOOLCHAIN_FILE=$PWD/cmake/aarch64.cmake" "-DFLEXOR_SYSROOT=$sysroot" \
  "-DFLEXOR_TORCH=$wheels/torch" "-DFLEXOR_ARROW=$wheels/pyarrow" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
  "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--allow-shlib-undefined" >/dev/null

mapfile -t areas < <(sed -n 's/^flexor_area(\(\w*\).*/\1/p' src/CMakeLists.txt)
mapfile -t targets < <(ninja -C "$build" -t targets all | sed -n 's/^src\/libflexor_\(\w*\)\.a: .*/\1/p' | sort -u)
passed=0 failed=0
rm -f "$build"/src/libflexor_*.a "$build/flexor"  # what is there in the end was made of sources that compile
ninja -C "$build" ${JOBS:+-j "$JOBS"} -k 0 "${targets[@]/#/flexor_}" || true
for area in "${areas[@]}"; do
  if [[ " ${targets[*]} " == *" $area "* ]] && [ ! -e "$build/src/libflexor_$area.a" ]; then
    echo "FAILED: area $area does not compile for aarch64"
    failed=$((failed + 1))
  else
    passed=$((passed + 1))
  fi
done
if ninja -C "$build" ${JOBS:+-j "$JOBS"} flexor && readelf -h "$build/flexor" | grep -q AArch64; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
