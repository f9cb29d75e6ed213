#!/usr/bin/env bash
# tools/demo.sh FLEXOR: fine-tunes a tiny pi0.5 on the bundled videos, evaluates it on held-out episodes and writes a report.
# DEMO_OUT=DIR is where (default out/demo, replaced), DEMO_STEPS=N how long it trains (default 500).
set -euo pipefail
cd "$(dirname "$0")/.."
flexor=$1
out=${DEMO_OUT:-out/demo}
data=examples/data/reach_blocks
steps=${DEMO_STEPS:-500}
started=$SECONDS
export OMP_WAIT_POLICY=PASSIVE  # spinning threads starve the decoders on small machines

rm -rf "$out"
mkdir -p "$out"
echo "== the data"
"$flexor" dataset info "$data"
echo "== training pi0.5 (tiny) on 36 of 40 episodes"
"$flexor" train --config configs/pi05_tiny.yaml "dataset.root=$data" "output_dir=$out/run" \
  "steps=$steps" "scheduler.decay_steps=$steps" "scheduler.warmup_steps=$((steps / 10))" log_freq=20 eval_freq=100 \
  policy.chunk_size=30 policy.n_action_steps=30  # an episode has about 34 frames
policy=$out/run/checkpoints/last/pretrained_model
echo "== evaluating on the 4 episodes that were held out"
"$flexor" eval --policy "$policy" --dataset "$data" --split 0.1 -o "$out/run/eval"  # where the report looks
"$flexor" report "$out/run"
echo
echo "the demo took $((SECONDS - started)) s"
echo "checkpoint: $(readlink -f "$policy")"
echo "report:     $(readlink -f "$out/run/report.html")"
echo "evaluation: $(readlink -f "$out/run/eval/eval.html")"
