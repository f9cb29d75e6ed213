#!/bin/bash
# Two ranks with one core each beside one rank with one core: the same batch a rank, bfloat16 with float32 masters.
#   bench/ddp_scaling.sh MID [FLEXOR] [ROUNDS] [STEPS]
# MID is the folder of bench/peers/make_workload.py. Ranks are pinned, the two sides run in turns, the median of the
# rounds counts; a machine that does anything else spoils the figure. The share of a step in which a rank waited for the
# other comes from the run's own metrics (comm_wait_s / updt_s).
set -euo pipefail
mid=$1 flexor=${2:-build/flexor} rounds=${3:-5} steps=${4:-12}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# rank WORLD RANK PORT FOLDER: one rank on the core of its number
rank() {
  RANK=$2 LOCAL_RANK=$2 WORLD_SIZE=$1 LOCAL_WORLD_SIZE=$1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$3 OMP_NUM_THREADS=1 \
    taskset -c "$2" "$flexor" train policy.path="$mid/pi05_mid" batch_file="$mid/pi05_mid/inputs_b4.safetensors" \
    policy.dtype=bfloat16 parallel.strategy=ddp threads=1 steps="$steps" log_freq=1 save_freq=0 output_dir="$4" >"$out/log$2" 2>&1
}

# figures FOLDER: samples/s and the share waited, over the steps after the first four
figures() {
  python3 - "$1/metrics.jsonl" <<'PY'
import json, statistics, sys
rows = [json.loads(line) for line in open(sys.argv[1])][4:]
rate = statistics.median(row["samples_per_s"] for row in rows)
print(rate, statistics.median(row.get("comm_wait_s", 0.0) / row["updt_s"] for row in rows))
PY
}

for round in $(seq "$rounds"); do
  rank 1 0 29600 "$out/one" || { cat "$out/log0"; exit 1; }
  figures "$out/one" >>"$out/ones"
  rank 2 1 29601 "$out/two" &
  rank 2 0 29601 "$out/two" || { cat "$out/log0"; exit 1; }
  wait
  figures "$out/two" >>"$out/twos"
  echo "round $round: one $(tail -1 "$out/ones"), two $(tail -1 "$out/twos")" >&2
  rm -rf "$out/one" "$out/two"
done
python3 - "$out/ones" "$out/twos" <<'PY'
import statistics, sys
one, two = ([tuple(map(float, line.split())) for line in open(path)] for path in sys.argv[1:])
a, b = (statistics.median(rate for rate, _ in side) for side in (one, two))
share = statistics.median(share for _, share in two)
print(f'{{"name": "ddp_scaling", "unit": "samples/s", "one_rank": {a:.4f}, "two_ranks": {b:.4f}, "speedup": {b / a:.3f}, '
      f'"comm_wait_share": {share:.4f}, "rounds": {len(one)}}}')
PY
