#!/bin/sh
# Fuzz each target for SECONDS, starting from the saved inputs and those found before. Findings are written to
# BUILD/findings/TARGET-*: fix the bug, and add the input to tests/fuzz/corpus/TARGET.
# usage: fuzz.sh BUILD SECONDS TARGET…
set -eu
build=$1 seconds=$2
shift 2
[ "$seconds" -ge 1 ] || { echo "make fuzz: FUZZ_SECONDS=$seconds: expected at least 1" >&2; exit 2; } # libFuzzer runs forever at 0
mkdir -p "$build/findings"
failed=0
for target in "$@"; do
    found=$build/corpus/$target
    mkdir -p "$found"
    log=$build/$target.log
    # One thread: each input is small.
    if OMP_NUM_THREADS=1 "$build/fuzz-$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=4096 \
        -use_value_profile=1 -print_final_stats=1 -dict="tests/fuzz/words.dict" \
        -artifact_prefix="$build/findings/$target-" "$found" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        echo "  ok    $target: $runs executions"
    else
        failed=$((failed + 1))
        echo "  FAIL  $target: see $log"
        grep -E 'ERROR:|runtime error|does not hold|Test unit written' "$log" | sed 's/^/        /' || true
    fi
done
[ "$failed" -eq 0 ]
