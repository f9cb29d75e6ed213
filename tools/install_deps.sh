#!/usr/bin/env bash
# Installs everything that Flexor is built from and says what it does. Safe to run again: what is there stays.
#
#   tools/install_deps.sh              distribution packages and the private Python environment .deps/venv
#   tools/install_deps.sh --if-needed  the same, but silent and instant when the stamp says that nothing changed
#   tools/install_deps.sh --dev        clang-format and clang-tidy (make format, make lint) into .deps/venv
#   tools/install_deps.sh --clang      clang and its sanitizer runtimes (make sanitize, make fuzz), distribution packages
#   tools/install_deps.sh --cross      g++ for aarch64 (make cross), a distribution package
#
# FLEXOR_TORCH=/path  builds against that LibTorch folder or Python environment; the torch wheel is then not installed.
# FLEXOR_PYTHON=/path the interpreter that makes .deps/venv (default: the first suitable python3 on PATH).
# pip's own settings (pip.conf, PIP_INDEX_URL, PIP_FIND_LINKS, ...) are honoured: an offline mirror or the CPU build of
# torch is chosen there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  g++ cmake ninja-build make pkg-config ccache mold binutils patchelf
  libavformat-dev libavcodec-dev libavutil-dev libswscale-dev
  libspdlog-dev nlohmann-json3-dev libyaml-cpp-dev libcli11-dev libsentencepiece-dev libhwloc-dev
  libgtest-dev libgmock-dev
  python3 python3-venv ca-certificates
)
stamp=.deps/stamp

say() { printf '[deps] %s\n' "$*"; }
fail() {
  printf 'error: %s\n  hint: %s\n' "$1" "$2" >&2
  exit 1
}

fingerprint() {
  { cat tools/install_deps.sh requirements.txt; printf 'torch=%s\npython=%s\n' "${FLEXOR_TORCH:-}" "${FLEXOR_PYTHON:-}"; } |
    sha256sum | cut -d' ' -f1
}

# The packages of the list that dpkg does not know as installed.
missing_packages() {
  local package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || printf '%s\n' "$package"
  done
}

install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "no apt on this system: taking the compiler and the libraries as they are (cmake names what is missing)"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages)
  if [ ${#missing[@]} -eq 0 ]; then
    say "all ${#packages[@]} distribution packages are installed"
    return
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "distribution packages are missing and this user may not install them" \
      "as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing with apt: ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q >.deps/apt.log 2>&1 ||
    say "apt-get update failed (see .deps/apt.log); trying with the package lists at hand"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" \
    >>.deps/apt.log 2>&1 || {
    tail -n 15 .deps/apt.log >&2
    fail "apt-get install failed (.deps/apt.log)" "make the packages above available, then run: make deps"
  }
}

# True when clang++ links a program for libFuzzer and AddressSanitizer.
clang_fuzzes() {
  command -v clang++ >/dev/null || return 1
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ -fsanitize=fuzzer,address,undefined -x c++ - -o .deps/clang-probe 2>/dev/null
}

# clang and the runtimes of its version: Debian keeps them in libclang-rt-N-dev, older systems in libclang-common-N-dev.
install_clang() {
  if clang_fuzzes; then
    say "clang++ with libFuzzer is installed"
    return
  fi
  packages=(clang)
  install_packages
  clang_fuzzes && return
  local version package
  version=$(clang++ -dumpversion | cut -d. -f1)
  for package in "libclang-rt-$version-dev" "libclang-common-$version-dev"; do
    if [ -n "$(apt-cache madison "$package" 2>/dev/null)" ]; then
      packages=("$package")
      install_packages
      clang_fuzzes && return
    fi
  done
  fail "clang++ cannot link a fuzz target" "install clang with compiler-rt (libFuzzer, AddressSanitizer)"
}

# An interpreter for which wheels exist (3.10 to 3.14) and that can make environments.
find_python() {
  local candidate
  for candidate in ${FLEXOR_PYTHON:-python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.10 python3.14}; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  fail "no Python 3.10 to 3.14 with the venv module found" "install python3-venv, or set FLEXOR_PYTHON=/path/to/python3"
}

# True when .deps/venv holds exactly the pinned versions named on standard input.
has_pinned() {
  .deps/venv/bin/python - <(cat) <<'PY' 2>/dev/null
import importlib.metadata, sys
for line in open(sys.argv[1]):
    name, _, version = line.strip().partition("==")
    if name and not name.startswith("#") and importlib.metadata.version(name).split("+")[0] != version:
        sys.exit(1)
PY
}

install_wheels() {  # install_wheels FILE...: the pinned requirements of these files
  local wanted
  wanted=$(cat "$@" | grep -v -e '^#' -e '^$')
  if [ -n "${FLEXOR_TORCH:-}" ]; then
    [ -e "$FLEXOR_TORCH" ] || fail "FLEXOR_TORCH does not exist ($FLEXOR_TORCH)" "a LibTorch folder or a Python environment"
    say "torch: taken from FLEXOR_TORCH=$FLEXOR_TORCH"
    wanted=$(grep -v '^torch==' <<<"$wanted")
  fi
  if [ -x .deps/venv/bin/python ] && .deps/venv/bin/python -c '' 2>/dev/null; then
    if has_pinned <<<"$wanted"; then
      say "in .deps/venv already: $(tr '\n' ' ' <<<"$wanted")"
      return
    fi
  else
    local python
    python=$(find_python)
    say "making .deps/venv with $python"
    rm -rf .deps/venv
    "$python" -m venv .deps/venv
  fi
  say "installing with pip: $(tr '\n' ' ' <<<"$wanted")"
  local list=.deps/wanted.txt
  printf '%s\n' "$wanted" >"$list"
  .deps/venv/bin/python -m pip install --disable-pip-version-check --progress-bar off -r "$list" >.deps/pip.log 2>&1 || {
    tail -n 15 .deps/pip.log >&2
    fail "pip could not install $(tr '\n' ' ' <"$list")(.deps/pip.log)" \
      "offline: point pip at a folder of wheels (PIP_FIND_LINKS=DIR), or use an existing torch (FLEXOR_TORCH=DIR)"
  }
}

mkdir -p .deps
case "${1:-}" in
  --if-needed) [ "$(cat "$stamp" 2>/dev/null)" = "$(fingerprint)" ] && [ -x .deps/venv/bin/python ] && exit 0 ;;
  --dev)
    [ -x .deps/venv/bin/python ] || "$0"
    FLEXOR_TORCH='' install_wheels requirements-dev.txt
    exit 0
    ;;
  --clang)
    [ -x .deps/venv/bin/python ] || "$0"
    install_clang
    exit 0
    ;;
  --cross)
    packages=(g++-aarch64-linux-gnu)
    install_packages
    command -v aarch64-linux-gnu-g++ >/dev/null || fail "there is no aarch64-linux-gnu-g++" "install g++ for aarch64-linux-gnu"
    exit 0
    ;;
  '') ;;
  *) fail "unknown option $1" "tools/install_deps.sh [--if-needed | --dev | --clang | --cross]" ;;
esac
started=$SECONDS
install_packages
install_wheels requirements.txt
fingerprint >"$stamp"
say "done in $((SECONDS - started)) s"
