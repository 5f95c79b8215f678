#!/bin/sh
# Print the C header with the revision that a binary is built from.
revision=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
dirty=true
[ "$revision" != unknown ] && [ -z "$(git status --porcelain 2>/dev/null)" ] && dirty=false
# As git_read() in bench/io/git.c: the changes of known files, the names and contents of others, 64 MiB at most.
changes=
if [ $dirty = true ] && [ "$revision" != unknown ]; then
    others=$(git ls-files --others --exclude-standard -z | xargs -0r stat --printf '%s\t%F\t%n\n' --)
    changes=$({
        git diff HEAD --binary
        echo "$others"
        echo "$others" |
            awk -F '\t' 'BEGIN { left = 2 ^ 26 } $2 ~ /^regular/ && $1 <= left { left -= $1; print $3 }' |
            git hash-object --no-filters --stdin-paths
    } | git hash-object --stdin | cut -c-12)
fi
cat <<EOF
#define BENCH_VERSION "0.1.0"
#define BENCH_REVISION "$revision"
#define BENCH_DIRTY $dirty
#define BENCH_CHANGES "$changes"
EOF
