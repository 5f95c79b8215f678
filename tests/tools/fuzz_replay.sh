#!/bin/sh
# Run each fuzz target once on its saved inputs. usage: fuzz_replay.sh BUILD TARGET…
set -u
build=$1
shift
failed=0
for target in "$@"; do
    log=$build/replay-$target.log
    if "$build/replay-$target" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
        printf '  ok    fuzz %s: %s\n' "$target" "$(tail -n 1 "$log")"
    else
        failed=$((failed + 1))
        printf '  FAIL  fuzz %s\n' "$target"
        cat "$log"
    fi
done
[ "$failed" -eq 0 ]
