#!/usr/bin/env bash
# smoke_test.sh FLEXOR PLACE_BLOCK: records a few episodes, trains two steps, judges, makes the table.
set -euo pipefail
flexor=$1
place_block=$2
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export OMP_WAIT_POLICY=PASSIVE

"$place_block" record "$out/data" --episodes 6 --seed 3 | grep -q '"episodes": *6\|"episodes":6'
"$flexor" dataset verify "$out/data"
"$flexor" train --config "$here/train.yaml,$here/policy.yaml" "dataset.root=$out/data" "output_dir=$out/run" \
  steps=2 batch_size=4 scheduler.decay_steps=2 scheduler.warmup_steps=1
policy=$out/run/checkpoints/last/pretrained_model
"$place_block" judge --policy "$policy" --name plain --episodes 3 --num-steps 2 -o "$out/plain.json" >"$out/first"
"$place_block" judge --policy "$policy" --name plain --episodes 3 --num-steps 2 --batch-size 1 >"$out/second"
cmp "$out/first" "$out/second"
"$place_block" table "$out/plain.json" "$out/plain.json" -o "$out/table.md" | grep -q '^| plain | '

# What must be refused, with its exit code.
code=0
"$place_block" judge --policy "$policy" --execute 11 2>"$out/error" || code=$?
test "$code" = 2 && grep -q 'chunks have 10 actions' "$out/error"
code=0
"$place_block" record "$out/data" 2>"$out/error" || code=$?
test "$code" = 1 && grep -q 'not empty' "$out/error"
code=0
"$place_block" table 2>"$out/error" || code=$?
test "$code" = 2 && grep -q 'no results given' "$out/error"
echo ok
