#!/usr/bin/env bash
# tools/plugins.sh [PROGRAM]: builds the device back ends libflexor_cuda.so and libflexor_npu.so into build-plugins, against the headers
# and libraries of the CUDA build of LibTorch and of torch_npu (tools/device_wheels.txt, downloaded once into .deps/wheels), makes
# a stand-in for CANN and an environment with torch_npu in it, and tests what can be tested without the devices. The closing line counts tests.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-build/flexor}
build=build-plugins
python=$PWD/.deps/venv/bin/python
for set in cuda npu; do "$python" tools/fetch_wheels.py $set; done
mkdir -p $build

# torch_npu lies beside the torch that the program uses, as in a user's environment; not in .deps/venv, where torch would load it.
npu=.deps/npu
site=$npu/$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib", "posix_prefix", {"base": "."}).removeprefix("./"))')
torch=$("$python" -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("torch").origin))')
stamp="$("$python" -V) $torch $(stat -c %Y "$torch/lib/libtorch_cpu.so") $(cat .deps/wheels/npu/stamp)"
if [ "$(cat $npu/stamp 2>/dev/null)" != "$stamp" ]; then
  rm -rf $npu
  "$python" -m venv --without-pip $npu
  for folder in "$torch" .deps/wheels/npu/*/; do cp -al "$folder" "$site/" 2>/dev/null || cp -a "$folder" "$site/"; done
  dirname "$torch" >"$site/others.pth"
  echo "$stamp" >$npu/stamp
fi

compiler=${CXX:-g++}
if [ ! -e $build/cann/libascendcl.so ] || [ -n "$(find plugins/stand_in_cann .deps/wheels/npu/stamp -newer $build/cann/libascendcl.so)" ]; then
  "$python" plugins/stand_in_cann/make.py .deps/wheels/npu $build/cann "$compiler"
fi
options=(-G Ninja -S plugins -B $build -DCMAKE_CXX_COMPILER="$compiler" -DTORCH_DIR="$torch" -DCUDA_WHEELS="$PWD/.deps/wheels/cuda"
  -DNPU_WHEELS="$PWD/.deps/wheels/npu" -DCANN_DIR="$PWD/$build/cann" -DPYTHON="$python" -DNPU_ENVIRONMENT="$PWD/$npu"
  -DPROGRAM="$(readlink -f "$program")")
cmake "${options[@]}" >$build/cmake.log 2>&1 || { cat $build/cmake.log >&2; exit 1; }
ninja -C $build ${JOBS:+-j "$JOBS"}
"$python" tools/run_tests.py $build
