#!/bin/sh
# Run the C unit tests given as arguments; print a line for each, and everything of one that fails.
set -u
failed=0
for test in "$@"; do
    log=$test.log
    if "$test" >"$log" 2>&1; then
        printf '  ok    %s: %s\n' "$(basename "$test")" "$(grep -o '[0-9]* test(s)\.' "$log" | tail -n 1)"
        grep -h 'SKIPPED.*: ' "$log" | sed 's/^/        /' || true
    else
        failed=$((failed + 1))
        printf '  FAIL  %s\n' "$(basename "$test")"
        cat "$log"
    fi
done
echo "unit: $(($# - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
