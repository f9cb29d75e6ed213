#!/usr/bin/env bash
# tools/bundle_proof.sh TAR [--debian]: proves that a bundle (tools/bundle.py) runs on a bare machine. Unpacks it, moves it to a
# folder with a space in its name, and runs the program in a file system that holds nothing else but this machine's C library
# (not even a shell), without a network and with an empty environment. --debian: in a minimal Debian made by debootstrap as well.
# Needs root. The closing line counts what was run.
set -euo pipefail
tar=$(readlink -f "${1:?usage: tools/bundle_proof.sh TAR [--debian]}")
debian=${2:-}
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "error: chroot needs root" >&2; exit 1; }
work=$(mktemp -d /var/tmp/flexor-bundle.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT  # what is mounted below lives in another mount namespace
passed=0 failed=0
place="/srv/moved here"

bare_machine() {  # bare_machine ROOT: the C library and the loader
  local file
  mkdir -p "$1"
  while IFS= read -r file; do
    case "$file" in *.so | *.so.[0-9]*) [ ! -f "$file" ] || { mkdir -p "$1$(dirname "$file")" && cp -L "$file" "$1$file"; } ;; esac
  done < <(dpkg -L libc6)
  for file in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do  # where programs look for the loader
    [ ! -e "$file" ] || { mkdir -p "$1$(dirname "$file")" && cp -L "$file" "$1$file"; }
  done
  [ -e "$1/lib" ] || ln -s usr/lib "$1/lib"
}

inside() {  # inside ROOT COMMAND...: in namespaces of its own: no network but the loopback, own /proc, /dev and /tmp
  # shellcheck disable=SC2016
  unshare --mount --net --pid --fork -- bash -c '
    set -e
    root=$1 place=$2
    shift 2
    ip link set lo up
    mkdir -p "$root"/{proc,dev,tmp}
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for node in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "$root/dev/${node%:*}" c 1 "${node#*:}"; done
    mkdir -m 1777 "$root/dev/shm"
    exec env -i HOME=/tmp LC_ALL=C.UTF-8 "$(PATH=$PATH:/usr/sbin:/sbin command -v chroot)" "$root" "$place/bin/flexor" "$@"' inside "$1" "$place" "${@:2}"
}

try() {  # try ROOT WHAT PATTERN COMMAND...: it ends with 0 and prints what matches
  local root=$1 what=$2 pattern=$3 started=$SECONDS
  shift 3
  if inside "$root" "$@" >"$work/log" 2>&1 && grep -qE "$pattern" "$work/log"; then
    printf 'ok      %-44s %3d s   %s\n' "$what" $((SECONDS - started)) "$(grep -E "$pattern" "$work/log" | tail -n 1 | cut -c1-100)"
    passed=$((passed + 1))
  else
    printf 'FAILED  %s\n' "$what"
    tail -n 20 "$work/log"
    failed=$((failed + 1))
  fi
}

prove() {  # prove ROOT NAME
  local root=$1 data="$place/examples/data/reach_blocks" config="$place/configs/pi05_tiny.yaml"
  mkdir -p "$root/srv/first" && tar -xzf "$tar" -C "$root/srv/first"
  mv "$root"/srv/first/* "$root$place"
  (cd "$root$place" && sha256sum --quiet -c SHA256SUMS)
  echo "== $2: $(find "$root" -xdev -type f -not -path "$root/srv/*" | wc -l) files beside the bundle"
  try "$root" "flexor --version" '^flexor [0-9]' --version
  try "$root" "flexor doctor" "LibTorch +.* in $place/lib/libtorch_cpu.so" doctor
  try "$root" "flexor train, 12 steps" 'step:12 ' train --config "$config" "dataset.root=$data" output_dir=/tmp/run steps=12 \
    log_freq=4 policy.chunk_size=10 policy.n_action_steps=10
  try "$root" "flexor launch, two ranks" '^\[0\].* step:4 ' launch --nproc 2 -- train --config "$config" "dataset.root=$data" \
    output_dir=/tmp/ranks steps=4 log_freq=2 parallel.strategy=zero3 policy.chunk_size=10 policy.n_action_steps=10
  try "$root" "flexor eval of the checkpoint" 'mae|error' eval --policy /tmp/run/checkpoints/last/pretrained_model --dataset "$data" --split 0.1
  rm -rf "$root/tmp"
}

bare_machine "$work/bare"
prove "$work/bare" "nothing but the C library"
if [ "$debian" = --debian ]; then
  debootstrap --variant=minbase bookworm "$work/debian" >"$work/debootstrap.log" 2>&1 || { tail "$work/debootstrap.log"; exit 1; }
  prove "$work/debian" "a minimal Debian"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
