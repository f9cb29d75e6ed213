#!/usr/bin/env bash
# examples/place_block/run.sh [BUILD]: the whole experiment. Records good and bad episodes, trains a start policy, then from
# it, for as many steps on the same data, a plain fine-tuning and RECAP, and judges all in the simulator.
# OUT=DIR is where (default out/place_block, replaced); EPISODES, START_STEPS, STEPS, VALUE_STEPS, JUDGED and SEED change the size.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
flexor=$build/flexor
place_block=$build/place_block
here=examples/place_block
out=${OUT:-out/place_block}
episodes=${EPISODES:-800} start_steps=${START_STEPS:-600} steps=${STEPS:-1500} value_steps=${VALUE_STEPS:-1000}
judged=${JUDGED:-200} seed=${SEED:-1000}
export OMP_WAIT_POLICY=PASSIVE
started=$SECONDS

step() { echo "== $1 ($((SECONDS - started)) s)"; }
train() {  # train NAME STEPS CONFIGS [key=value...]
  "$flexor" train --config "$3" "dataset.root=$out/data" "output_dir=$out/$1" "steps=$2" \
    "scheduler.decay_steps=$2" "seed=$seed" "${@:4}"
}
policy() { echo "$out/$1/checkpoints/last/pretrained_model"; }
judge() {  # judge FILE NAME POLICY [flags...]
  "$place_block" judge --name "$2" --policy "$3" --episodes "$judged" --num-steps 5 --threads 1 -o "$out/results/$1.json" "${@:4}"
}

rm -rf "$out"
mkdir -p "$out"
step "recording $episodes episodes"
"$place_block" record "$out/data" --episodes "$episodes" >"$out/recorded.json"
"$flexor" dataset cache "$out/data" --size 64  # pictures are decoded once
successes=$(sed 's/.*"success_episodes": *\(\[[^]]*\]\).*/\1/' "$out/recorded.json")

step "the start: $start_steps steps on all episodes"
train start "$start_steps" $here/train.yaml,$here/policy.yaml
step "plain fine-tuning: $steps steps on all episodes"
train plain "$steps" $here/train.yaml "policy.path=$(policy start)"
step "plain fine-tuning: $steps steps on the successful episodes"
train successes "$steps" $here/train.yaml "policy.path=$(policy start)" "dataset.episodes=$successes"

step "RECAP: returns, value model, labels, $steps steps on all episodes"
recap=(--config $here/recap.yaml "output_dir=$out/recap" "data.train_data_paths=[{dataset_path: $out/data}]"
  "value.runner.max_steps=$value_steps" "value.actor.optim.total_training_steps=$value_steps"
  "policy.runner.max_steps=$steps" "policy.actor.optim.total_training_steps=$steps" "policy.actor.seed=$seed"
  "policy.actor.model.model_path=$(policy start)")
for command in returns value advantages policy; do
  "$flexor" recap $command "${recap[@]}"
done
"$place_block" labels "$out/data" --tag place_block | tee "$out/labels.md"

step "judging in $judged episodes"
recap_policy=$out/recap/policy/checkpoints/last/pretrained_model
judge start "start" "$(policy start)"
judge plain "plain fine-tuning" "$(policy plain)"
judge recap "RECAP, guidance 1" "$recap_policy" --guidance 1  # the positive prompt alone
judge recap2 "RECAP, guidance 2" "$recap_policy" --guidance 2
judge recap0 "RECAP, no guidance" "$recap_policy"
judge successes "plain, successful episodes only" "$(policy successes)"
results=("$out"/results/{plain,recap,recap2,recap0,successes,start}.json)
"$place_block" table "${results[@]}" -o "$out/table.md"
echo "the experiment took $((SECONDS - started)) s; table: $out/table.md"
