#!/usr/bin/env bash
# Proves that a bare Debian machine needs nothing but `make demo` and `make test`: bootstraps a minimal Debian into a
# folder, puts a fresh clone of the committed tree there, runs the commands inside and prints how long each took.
# Needs root and debootstrap.
#
#   tools/chroot_proof.sh [options] [TARGET...]        TARGETs of make, default: demo test
#     --dir DIR        where the machine is made (default: a temporary folder, removed at the end)
#     --keep           leave DIR behind; a DIR that holds a machine already is used again, with a new clone
#     --suite NAME     Debian release (default bookworm)
#     --mirror URL     Debian mirror (default: debootstrap's)
#     --bind DIR       make a folder of this machine visible inside, read-only, at the same path (wheels, a mirror)
#     --copy FILE      copy a file of this machine to the same path inside (pip.conf, certificates, apt settings)
#     --pass-env GLOB  hand over the environment variables whose names match, as in 'PIP_*' or 'http*_proxy'
#     --ref REF        commit to clone (default HEAD)
set -euo pipefail
cd "$(dirname "$0")/.."

dir='' keep=0 suite=bookworm mirror='' ref=HEAD
binds=() copies=() globs=() targets=()
while [ $# -gt 0 ]; do
  case "$1" in
    --dir) dir=$2; shift ;;
    --keep) keep=1 ;;
    --suite) suite=$2; shift ;;
    --mirror) mirror=$2; shift ;;
    --bind) binds+=("$2"); shift ;;
    --copy) copies+=("$2"); shift ;;
    --pass-env) globs+=("$2"); shift ;;
    --ref) ref=$2; shift ;;
    -*) echo "error: unknown option $1" >&2; exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done
[ ${#targets[@]} -gt 0 ] || targets=(demo test)
ref=$(git rev-parse "$ref")
[ "$(id -u)" -eq 0 ] || { echo "error: chroot needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "error: debootstrap is missing (apt-get install debootstrap)" >&2; exit 1; }
if [ -z "$dir" ]; then
  dir=$(mktemp -d /var/tmp/flexor-proof.XXXXXX)
else
  mkdir -p "$dir"
  dir=$(readlink -f "$dir")
fi

mounts=()
mount_at() {  # mount_at PATH-INSIDE MOUNT-ARGUMENTS...
  local inside=$dir$1
  shift
  mkdir -p "$inside"
  mount "$@" "$inside"
  mounts+=("$inside")
}
leave() {
  local i
  for ((i = ${#mounts[@]} - 1; i >= 0; i--)); do umount "${mounts[i]}" || umount -l "${mounts[i]}"; done
  # Never delete below a mount that did not go away.
  if [ "$keep" -eq 0 ] && ! grep -q " $dir/" /proc/mounts; then rm -rf --one-file-system "$dir"; fi
}
trap leave EXIT

report=()
timed() {  # timed NAME COMMAND...
  local name=$1 started=$SECONDS
  shift
  echo "== $name"
  "$@" || { echo "FAILED: $name, after $((SECONDS - started)) s" >&2; exit 1; }
  report+=("$(printf '%-28s %5d s' "$name" $((SECONDS - started)))")
}

environment=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb)
for glob in "${globs[@]}"; do
  while IFS= read -r name; do
    # shellcheck disable=SC2254  # the glob is meant
    case "$name" in $glob) environment+=("$name=${!name}") ;; esac
  done < <(compgen -e)
done
inside() { chroot "$dir" /usr/bin/env -i "${environment[@]}" bash -c "$1"; }

if [ ! -x "$dir/usr/bin/env" ]; then
  timed "debootstrap $suite" debootstrap --variant=minbase "$suite" "$dir" ${mirror:+"$mirror"} >"$dir.log" 2>&1
  rm -f "$dir.log"
fi
for file in /etc/resolv.conf /etc/hosts; do [ ! -e "$file" ] || cp -L "$file" "$dir$file"; done
mount_at /proc -t proc proc
mount_at /dev -t tmpfs -o mode=755 tmpfs  # an own /dev: nothing of this machine's can be unmounted by mistake
for node in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "$dir/dev/${node%:*}" c 1 "${node#*:}"; done
mkdir -p "$dir/dev/shm" && chmod 1777 "$dir/dev/shm"
ln -s /proc/self/fd "$dir/dev/fd" && ln -s fd/0 "$dir/dev/stdin" && ln -s fd/1 "$dir/dev/stdout" && ln -s fd/2 "$dir/dev/stderr"
mount_at /tmp -t tmpfs -o mode=1777 tmpfs
for folder in "${binds[@]}"; do mount_at "$(readlink -f "$folder")" --bind -o ro "$folder"; done

echo "a bare machine: $(inside 'dpkg-query -f . -W | wc -c') packages; g++, cmake, python3: $(
  inside 'command -v g++ cmake python3 || echo none' | tr '\n' ' ')"
# What anybody needs to get the sources at all.
timed "apt-get install git make" inside \
  'apt-get update -qq && apt-get install -qq -y --no-install-recommends git make ca-certificates >/dev/null'
for file in "${copies[@]}"; do mkdir -p "$dir$(dirname "$file")" && cp -L "$file" "$dir$file"; done

rm -rf "$dir/root/flexor"
git clone -q --no-local . "$dir/root/flexor"
git -C "$dir/root/flexor" checkout -q --detach "$ref"
for target in "${targets[@]}"; do timed "make $target" inside "cd /root/flexor && make $target"; done

echo
echo "proved on Debian $suite at ${ref:0:10}, $(nproc) cores:"
printf '  %s\n' "${report[@]}"
