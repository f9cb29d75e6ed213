#!/usr/bin/env bash
# bench/run.sh BUILD: the benchmarks that need nothing but the checkout, one JSON line each.
# bench/peers/ has those that run LeRobot beside Flexor.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
export OMP_WAIT_POLICY=PASSIVE OMP_NUM_THREADS=${THREADS:-2}
for program in "$build"/bench/*_bench; do
  [ ! -x "$program" ] || "$program"
done
"$build/flexor" bench loader --dataset examples/data/reach_blocks --image-size 224 --steps 50 --json | tr -d '\n'
echo
