#!/bin/sh
# cppcheck over bench/. Versions differ in their false positives: only this version's findings fail; others are logged.
set -eu
counts=2.10
found=$(cppcheck --version | awk '{ print $2 }')
# What it found in each file is kept there by the file's content and that of its headers, for these options.
kept=build/cppcheck/$(cat "$0" tests/tools/cppcheck.txt | cksum | cut -d ' ' -f 1)-$found
mkdir -p "$kept"
status=0
cppcheck --quiet --std=c11 --language=c -Ibench --enable=warning,performance,portability --inline-suppr -j 2 \
    --cppcheck-build-dir="$kept" \
    --suppressions-list=tests/tools/cppcheck.txt --error-exitcode=1 bench 2>build/cppcheck.txt || status=$?
if [ "$found" = "$counts" ]; then
    cat build/cppcheck.txt >&2
    exit "$status"
fi
findings=$(grep -cE '^bench/.*: (error|warning|performance|portability):' build/cppcheck.txt || true)
echo "lint: cppcheck $found has $findings findings (build/cppcheck.txt); only those of version $counts fail"
