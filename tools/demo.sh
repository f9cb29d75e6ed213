#!/usr/bin/env bash
# tools/demo.sh FLEXOR: what Flexor does, on bundled data. Fine-tunes a tiny pi0.5 on demonstrations, then runs RECAP on them and on recorded
# attempts of which half fail: returns, value model, advantages, policy. Evaluates both policies and writes reports.
# DEMO_OUT=DIR is where (default out/demo, replaced); DEMO_STEPS=N (fine-tuning, default 250), DEMO_VALUE_STEPS=N (default 400) and
# DEMO_POLICY_STEPS=N (default 150) are how long the three trainings take.
set -euo pipefail
cd "$(dirname "$0")/.."
flexor=$1
out=${DEMO_OUT:-out/demo}
steps=${DEMO_STEPS:-250} value_steps=${DEMO_VALUE_STEPS:-400} policy_steps=${DEMO_POLICY_STEPS:-150}
started=$SECONDS
export OMP_WAIT_POLICY=PASSIVE  # spinning threads starve the decoders on small machines

rm -rf "$out"
mkdir -p "$out/data"
cp -r examples/data/reach_blocks "$out/data/demonstrations"  # copies: RECAP writes its labels into the datasets
cp -r examples/data/reach_blocks_attempts "$out/data/attempts"
chmod -R u+w "$out/data"
demonstrations=$out/data/demonstrations attempts=$out/data/attempts

echo "== the data"
"$flexor" dataset info "$demonstrations"
"$flexor" dataset info "$attempts"

echo "== fine-tuning pi0.5 (tiny) on 36 of 40 demonstrations"
"$flexor" train --config configs/pi05_tiny.yaml "dataset.root=$demonstrations" "output_dir=$out/run" \
  "steps=$steps" "scheduler.decay_steps=$steps" "scheduler.warmup_steps=$((steps / 10))" log_freq=20 "eval_freq=$((steps / 2))" \
  policy.chunk_size=30 policy.n_action_steps=30  # an episode has about 34 frames
policy=$out/run/checkpoints/last/pretrained_model
"$flexor" eval --policy "$policy" --dataset "$demonstrations" --split 0.1 -o "$out/run/eval"  # where the report looks
"$flexor" report "$out/run"

echo "== RECAP on 36 demonstrations and 24 attempts; 4 and 12 more judge what was learned"
shown="{dataset_path: $demonstrations, type: sft, episodes: [$(seq -s, 0 35)]}"
tried="{dataset_path: $attempts, type: rollout, episodes: [$(seq -s, 0 23)]}"
whole="[{dataset_path: $demonstrations, type: sft}, {dataset_path: $attempts, type: rollout}]"
held_out="[{dataset_path: $attempts, name: held_out, type: eval, episodes: [$(seq -s, 24 35)]}]"
# The policy has learned already: three tenths of the recipe's rate.
"$flexor" recap run --config configs/recap_tiny.yaml "output_dir=$out/recap" "data.train_data_paths=[$shown, $tried]" \
  "returns.data.train_data_paths=$whole" "advantages.data.train_data_paths=$whole" \
  "value.data.eval_data_paths=$held_out" "value.runner.max_steps=$value_steps" "value.runner.val_check_interval=$((value_steps / 4))" \
  "policy.data.val_data_paths=$held_out" "policy.runner.max_steps=$policy_steps" "policy.runner.val_check_interval=$((policy_steps / 3))" \
  policy.actor.optim.lr=0.0003 policy.actor.optim.min_lr=0.00003 \
  "policy.actor.model.model_path=$policy" policy.actor.model.max_token_len=64 policy.actor.model.action_horizon=30
recap=$out/recap/policy/checkpoints/last/pretrained_model

echo "== the policy after RECAP on the 4 held-out demonstrations, asked for the positive kind"
"$flexor" eval --policy "$recap" --dataset "$demonstrations" --split 0.1 --guidance 1 -o "$out/recap/eval"
echo "This is the distance to demonstrations, which fine-tuning minimises and RECAP does not: it also trains on attempts, good and bad, to succeed"
echo "more often. Nobody acts here, so nothing says whether it does; examples/place_block judges that in a simulator."
echo
echo "the demo took $((SECONDS - started)) s"
echo "fine-tuned: $(readlink -f "$policy"), report $(readlink -f "$out/run/report.html")"
echo "checkpoint: $(readlink -f "$recap")"
echo "report:     $(readlink -f "$out/recap/report.html")"
