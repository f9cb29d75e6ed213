#!/usr/bin/env bash
# tools/fuzz.sh [SECONDS]: builds the libFuzzer targets of tests/fuzz into build-fuzz and runs each for a third of SECONDS
# (default 60). Seeds are the small datasets of tests/data; what a run discovers stays in build-fuzz/corpus. A crash leaves its
# input in build-fuzz/crash-*, which `build-fuzz/fuzz_NAME FILE` repeats. The closing line counts targets.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
targets=(metadata parquet safetensors)
tools/install_deps.sh --clang
if [ ! -e build-fuzz/build.ninja ]; then
  mkdir -p build-fuzz
  cmake -G Ninja -S tests/fuzz -B build-fuzz -DCMAKE_CXX_COMPILER=clang++ -DPython3_EXECUTABLE="$PWD/.deps/venv/bin/python" \
    -DFLEXOR_TORCH="${FLEXOR_TORCH:-}" >build-fuzz/cmake.log 2>&1 || { cat build-fuzz/cmake.log >&2; exit 1; }
fi
ninja -C build-fuzz ${JOBS:+-j "$JOBS"}
.deps/venv/bin/python tests/fuzz/seeds.py tests/data/datasets tests/data/table build-fuzz/seeds

# Memory that a damaged footer asks for is refused with std::bad_alloc, as on a machine without it.
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=2048:detect_leaks=1
export LSAN_OPTIONS=suppressions=$PWD/tools/lsan.supp:print_suppressions=0
failed=0
for target in "${targets[@]}"; do
  mkdir -p "build-fuzz/corpus/$target"
  (cd build-fuzz && exec ./fuzz_"$target" -max_total_time=$((seconds / ${#targets[@]})) -timeout=20 -rss_limit_mb=4096 \
    -malloc_limit_mb=4096 -max_len=65536 -print_final_stats=1 -artifact_prefix="crash-$target-" \
    "corpus/$target" "seeds/$target" >"$target.log" 2>&1) || failed=$((failed + 1))
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$target.log")
  printf 'fuzz %-12s %s inputs in %s s\n' "$target" "${runs:-?}" $((seconds / ${#targets[@]}))
  grep -q '^stat::number_of_executed_units' "build-fuzz/$target.log" || tail -n 40 "build-fuzz/$target.log" >&2
done
echo "$((${#targets[@]} - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
