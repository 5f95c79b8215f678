#!/bin/sh
# Print the C header with the revision that a binary is built from.
revision=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
dirty=true
[ "$revision" != unknown ] && [ -z "$(git status --porcelain 2>/dev/null)" ] && dirty=false
cat <<EOF
#define BENCH_VERSION "0.1.0"
#define BENCH_REVISION "$revision"
#define BENCH_DIRTY $dirty
EOF
