#!/bin/sh
# Print the C header with the revision that a binary is built from.
revision=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
dirty=true
[ "$revision" != unknown ] && ! git status --porcelain 2>/dev/null | grep -qv '^?? kernels/[^/]*/$' && dirty=false
# As git_read() in bench/io/folders.c: a new folder in kernels/ is a user's.
# Of changes: those of known files, the names of others, and of those what sources say.
changes=
[ $dirty = true ] && [ "$revision" != unknown ] &&
    changes=$({
        git diff HEAD --binary
        git ls-files --others --exclude-standard
        git ls-files -z --others --exclude-standard -- '*.c' '*.h' '*.cpp' '*.hpp' '*.cu' '*.cuh' '*.py' |
            xargs -0r git hash-object --no-filters --
    } | git hash-object --stdin | cut -c-12)
cat <<EOF
#define BENCH_VERSION "0.1.0"
#define BENCH_REVISION "$revision"
#define BENCH_DIRTY $dirty
#define BENCH_CHANGES "$changes"
EOF
