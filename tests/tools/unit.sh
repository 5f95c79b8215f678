#!/bin/sh
# Run the C unit tests given as arguments, one per core at a time. Print a line for each, and the
# full output of a failed one.
set -u
# As many programs as cores run at the same time: a thread that waits must not take a core from those it waits for.
export OMP_WAIT_POLICY=passive
# However busy the machine is, tests find it idle (docs/testing.md).
export BENCH_BUSY='0 0.00 0.00 0.00 1/1 1'

if [ "$1" = --one ]; then
    test=$2
    name=$(basename "$test")
    rm -f "$test.failed"
    if "$test" >"$test.log" 2>&1; then
        said=$(grep -o '[0-9]* test(s)\.' "$test.log" | tail -n 1)
        skipped=$(grep -h 'SKIPPED.*: ' "$test.log" | sed 's/^/        /')
        # A single write, because other tests print at the same time.
        printf '  ok    %s: %s%s\n' "$name" "$said" "${skipped:+
$skipped}"
    else
        : >"$test.failed"
        printf '  FAIL  %s\n%s\n' "$name" "$(cat "$test.log")"
    fi
    exit 0
fi

printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" "$0" --one
failed=0
for test in "$@"; do
    if [ -e "$test.failed" ]; then failed=$((failed + 1)); fi
done
echo "unit: $(($# - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
