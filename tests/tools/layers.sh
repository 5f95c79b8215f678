#!/bin/sh
# Includes inside bench/ point downward only: from a level to the same or a lower one, and never in a circle.
# Prints every offending edge; exits 1 if there is any.
set -eu
edges=$(grep -RnoE '^#include "[a-z0-9_/]+\.h"' bench --include='*.c' --include='*.h' |
    sed -E 's|^bench/([^:]+):[0-9]+:#include "([^"]+)"|\1 \2|' | grep -v ' version.h$')

echo "$edges" | awk '
    function level(path) {
        if (path ~ /^(base|io|stats)\//) return 0
        if (path ~ /^(model|cuda)\//) return 1
        if (path ~ /^(allocators|engine|workloads)\//) return 2
        if (path ~ /^(results|sweep|compile|worker|limits|measure)\//) return 3
        if (path ~ /^run\/other_build/) return 3
        return 4
    }
    level($1) < level($2) { print "upward: bench/" $1 " includes " $2; bad = 1 }
    END { exit bad }'

# A module is a header with its .c and what its parts share: edges between modules must have an order.
if ! echo "$edges" | sed -E 's|run/state\.h|run/run.h|g; s|sweep/plan\.h|sweep/sweep.h|g; s/(_internal)?\.[ch]( |$)/\2/g' | awk '$1 != $2' | sort -u | tsort >/dev/null 2>build/layers.txt; then
    echo "a circle of includes:"
    sed 's/^tsort: //' build/layers.txt
    exit 1
fi
echo "layers: $(echo "$edges" | wc -l) includes, all downward"
